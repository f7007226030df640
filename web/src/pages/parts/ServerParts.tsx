import { useState } from 'react'
import type { FileOutcome, GatewayChange } from '../../data/agent-files.ts'
import type { HttpServer } from '../../data/api.ts'
import type { Server } from '../../data/servers.ts'
import { BeforeAfter } from '../../parts/content/BeforeAfter.tsx'
import { BeforeAfterRow, BeforeAfterTable, ChangeNote } from '../../parts/content/BeforeAfterRow.tsx'
import { ConnectChoices, FileChangeDialog, FileFacts, FilePreview } from '../../parts/content/FileChange.tsx'
import { FileLines } from '../../parts/content/FileLines.tsx'
import { SizeRows } from '../../parts/content/SizeRows.tsx'
import { ToolNames } from '../../parts/content/ToolNames.tsx'
import { VariantStrip } from '../../parts/content/VariantStrip.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { Repair } from '../../parts/repair/Repair.tsx'
import { StartOutcome } from '../../parts/repair/StartOutcome.tsx'
import { AddSample } from '../../parts/server/AddSample.tsx'
import { AgentChoice } from '../../parts/server/AgentChoice.tsx'
import { EnableDialog } from '../../parts/server/EnableDialog.tsx'
import { OutgoingList } from '../../parts/server/OutgoingList.tsx'
import { ServerBoxes } from '../../parts/server/ServerBoxes.tsx'
import { ServerMenu } from '../../parts/server/ServerMenu.tsx'
import { ConfirmLogin, SignIn, SignOut } from '../../parts/server/SignIn.tsx'
import { TryAll } from '../../parts/server/TryAll.tsx'
import { t } from './messages.ts'
import { Part } from './Part.tsx'
import css from './Parts.module.css'

const remote = (state: HttpServer['auth']['state'], enabled = true) =>
  ({ id: 'figma', name: 'figma', type: 'http', enabled, auth: { state, method: 'login' } }) as HttpServer &
    Server
const UNTRIED = { health: { state: 'not_tried' } } as Server
const STARTED = {
  name: 'github',
  type: 'stdio',
  status: 'running',
  tool_count: 2,
  health: {},
  last_error: null,
} as Server
const OUTGOING = {
  reference: `$\{secret:DOCS_KEY}`,
  to: 'header Authorization',
  host: 'docs.example',
  program: null,
  allowed: false,
}
const LOCAL = { id: 'github', name: 'github', type: 'stdio' } as Server

const VALUES = [
  {
    label: 'env MEMORY_FILE_PATH',
    own: '/home/me/.cursor/facts.json',
    other: '/home/me/.claude/facts.json',
    secret: null,
  },
  { label: 'env API_KEY', own: null, other: null, secret: 'same' as const },
]
const KEPT: GatewayChange = {
  servers: ['github', 'memory-cursor'],
  keep_names: false,
  starts_toolroom: false,
  before: { servers: 3, tools: 61, tokens: 15_000 },
  after: { servers: 3, tools: 61, tokens: 15_400 },
  gained: [],
  replaced: [
    {
      name: 'github',
      server_id: 'github',
      shared_with: ['claude-code'],
      variants: [],
      tools: [
        { before: 'create_issue', after: 'github__create_issue' },
        { before: 'get_issue', after: 'github__get_issue' },
      ],
    },
    {
      name: 'memory',
      server_id: 'memory-cursor',
      shared_with: [],
      variants: [{ server_id: 'memory', agents: ['claude-code'], values: VALUES }],
      tools: [{ before: 'read_graph', after: 'memory-cursor__read_graph' }],
    },
  ],
  kept: ['local-build'],
  credentials: { before: ['github: env GITHUB_TOKEN'], after: ['github: env GITHUB_TOKEN'] },
  not_added: 7,
}
/** No server has started yet. */
const NOTHING = { servers: 3, tools: 0, tokens: 0 }
const UNCOUNTED: GatewayChange = { ...KEPT, before: NOTHING, after: NOTHING }
const WIDER: GatewayChange = {
  ...KEPT,
  servers: null,
  after: { servers: 10, tools: 214, tokens: 51_000 },
  gained: ['slack', 'postgres'],
  credentials: { ...KEPT.credentials, after: ['github: env GITHUB_TOKEN', 'slack: env SLACK_TOKEN'] },
  not_added: 0,
}

const CONNECTED: FileOutcome = {
  agent_type: 'cursor',
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
          <ConfirmLogin server={remote('needs_login')} login={{ unconfirmed_account: 'me@example.com' }} />
          <TryAll servers={[UNTRIED]} />
          <ServerMenu server={LOCAL} />
          <ServerMenu server={remote('logged_in', false)} size={28} />
        </div>
        <div className={css.wrap}>
          <Repair action={{ kind: 'set_secret', name: 'GITHUB_TOKEN' }} server={LOCAL} look="main" />
          <Repair action={{ kind: 'edit_command' }} server={LOCAL} />
          <Repair
            action={{ kind: 'install_runtime', program: 'uvx', url: 'https://docs.astral.sh/uv' }}
            server={LOCAL}
          />
          <Repair action={{ kind: 'pull_image', image: 'node:22' }} server={LOCAL} size="xs" />
          <Repair action={{ kind: 'start' }} server={LOCAL} size="xs" look="quiet" />
        </div>
        <StartOutcome server={STARTED} />
        <AgentChoice chosen={undefined} onChange={() => {}} />
        <OutgoingList outgoing={[OUTGOING]} />
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
        <ConnectChoices value={{ all: false, keepNames: false }} had={3} onChange={() => {}} />
        <FilePreview file={CONNECTED} />
        <BeforeAfter agentType="cursor" change={WIDER} />
        <VariantStrip
          own="memory-cursor"
          other="memory"
          ownAgents={['Cursor']}
          agents={['Claude Code']}
          values={VALUES}
        />
        <BeforeAfterTable label="Servers and names">
          <BeforeAfterRow
            label="Servers"
            before="3"
            after="4"
            note={<ChangeNote tone="warn" text="1 gained" />}
          />
          <SizeRows change={UNCOUNTED} />
          <ToolNames replaced={KEPT.replaced} />
        </BeforeAfterTable>
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
