import { useState } from 'react'
import type { HttpServer } from '../../data/api.ts'
import type { Server } from '../../data/servers.ts'
import { FileChangeDialog, FileFacts } from '../../parts/content/FileChange.tsx'
import { FileLines } from '../../parts/content/FileLines.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { EnableDialog } from '../../parts/server/EnableDialog.tsx'
import { ServerBoxes } from '../../parts/server/ServerBoxes.tsx'
import { ServerMenu } from '../../parts/server/ServerMenu.tsx'
import { SignIn, SignOut } from '../../parts/server/SignIn.tsx'
import { t } from './messages.ts'
import { Part } from './Part.tsx'
import css from './Parts.module.css'

const remote = (state: HttpServer['auth']['state'], enabled = true) =>
  ({ id: 'figma', name: 'figma', type: 'http', enabled, auth: { state, method: 'login' } }) as HttpServer &
    Server
const LOCAL = { id: 'github', name: 'github', type: 'stdio' } as Server

/** What belongs to a server or to an agent's file. The dialogs read the service that the page came from. */
export function ServerParts() {
  const [open, setOpen] = useState<'enable' | 'file'>()
  const close = () => setOpen(undefined)
  return (
    <>
      <Part title={t('server')}>
        <div className={css.wrap}>
          <SignIn server={remote('needs_login')} />
          <SignIn server={remote('expired')} size="xs" />
          <SignOut server={remote('logged_in')} />
          <ServerMenu server={LOCAL} />
          <ServerMenu server={remote('logged_in', false)} size={28} />
        </div>
        <ServerBoxes chosen={[]} onToggle={() => {}} />
        <div>
          <Act onClick={() => setOpen('enable')}>Enable in…</Act>
        </div>
        {open === 'enable' && <EnableDialog servers={[LOCAL]} onClose={close} />}
      </Part>
      <Part title={t('fileChange')}>
        <FileFacts
          reload="by itself; some versions need the refresh button"
          warnings={["Cursor gets 4 tools of 'github' twice: from its own entry and from the gateway."]}
        />
        <FileLines agentType="cursor" scope="user" around={3} />
        <div>
          <Act onClick={() => setOpen('file')}>Connect Cursor…</Act>
        </div>
        {open === 'file' && (
          <FileChangeDialog
            title="Connect Cursor"
            action={{ kind: 'connect', agent_type: 'cursor', create: true }}
            onClose={close}
          />
        )}
      </Part>
    </>
  )
}
