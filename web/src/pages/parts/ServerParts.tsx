import { useState } from 'react'
import type { FileOutcome, GatewayChange } from '../../data/agent-files.ts'
import type { HttpServer } from '../../data/api.ts'
import type { Server } from '../../data/servers.ts'
import { BeforeAfter } from '../../parts/content/BeforeAfter.tsx'
import { FileChangeDialog, FileFacts, FilePreview, FollowChoice } from '../../parts/content/FileChange.tsx'
import { FileLines } from '../../parts/content/FileLines.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { AddSample } from '../../parts/server/AddSample.tsx'
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

const KEPT: GatewayChange = {
  servers: ['github', 'memory-cursor'],
  before: { servers: 3, tools: 61, tokens: 15_000 },
  after: { servers: 3, tools: 61, tokens: 15_400 },
  gained: [],
  replaced: [
    {
      name: 'github',
      server_id: 'github',
      tools: [
        { before: 'create_issue', after: 'github__create_issue' },
        { before: 'get_issue', after: 'github__get_issue' },
      ],
    },
    { name: 'memory', server_id: 'memory-cursor', tools: [] },
  ],
  kept: ['local-build'],
  credentials: { before: ['github: env GITHUB_TOKEN'], after: ['github: env GITHUB_TOKEN'] },
  not_added: 7,
}
const WIDER: GatewayChange = {
  ...KEPT,
  servers: null,
  after: { servers: 10, tools: 214, tokens: 51_000 },
  gained: ['slack', 'postgres'],
  credentials: { ...KEPT.credentials, after: ['github: env GITHUB_TOKEN', 'slack: env SLACK_TOKEN'] },
  not_added: 0,
}

const CONNECTED: FileOutcome = {
  path: '~/.cursor/mcp.json',
  diff: '@@ -1,3 +1,3 @@\n {\n-  "github": { "command": "npx" }\n+  "toolroom": { "url": "http://127.0.0.1:8665/mcp" }\n }\n',
  changed: true,
  reload_hint: null,
  warnings: [],
  gateway: KEPT,
}

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
          <AddSample />
        </div>
        {open === 'enable' && <EnableDialog servers={[LOCAL]} onClose={close} />}
      </Part>
      <Part title={t('fileChange')}>
        <FileFacts
          reload="by itself; some versions need the refresh button"
          warnings={["Cursor gets 4 tools of 'github' twice: from its own entry and from the gateway."]}
        />
        <FollowChoice all={false} onChange={() => {}} />
        <FilePreview file={CONNECTED} />
        <BeforeAfter change={WIDER} />
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
