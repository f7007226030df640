import { Button, Menu } from '@mantine/core'
import { TOKEN_HEADER } from '../../data/client.ts'
import { texts } from '../../i18n/texts.ts'
import { Icon } from '../marks/icons.tsx'
import { showDone, showFailure } from './toasts.tsx'

const t = texts('copy-as', {
  copyAs: 'Copy as',
  curl: 'curl',
  rpc: 'JSON-RPC',
  script: 'TypeScript',
  copied: 'Copied',
})

interface Props {
  /** `servers` or `http-servers`. */
  readonly route: 'servers' | 'http-servers'
  readonly server: string
  readonly tool: string
  /** As JSON. */
  readonly args: string
  readonly look?: 'plain' | 'quiet'
}

/** The same call for a terminal or a program. The token is never part of it. */
export function CopyAs({ look = 'plain', ...call }: Props) {
  const choices = [
    { name: t('curl'), text: curlOf },
    { name: t('rpc'), text: rpcOf },
    { name: t('script'), text: scriptOf },
  ]
  return (
    <Menu>
      <Menu.Target>
        <Button
          variant={look === 'quiet' ? 'subtle' : 'default'}
          leftSection={<Icon name="copy" size={14} />}
        >
          {t('copyAs')}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {choices.map(({ name, text }) => (
          <Menu.Item key={name} leftSection={<Icon name="copy" size={14} />} onClick={() => copy(text(call))}>
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}

export function copy(text: string): void {
  navigator.clipboard.writeText(text).then(() => showDone(t('copied')), showFailure)
}

type Call = Omit<Props, 'look'>

const addressOf = ({ route, server, tool }: Call): string =>
  `${location.origin}/api/${route}/${server}/tools/${encodeURIComponent(tool)}/call`

function curlOf(call: Call): string {
  const body = `{"arguments":${call.args}}`.replaceAll("'", `'\\''`)
  return [
    `curl -sS '${addressOf(call)}'`,
    `-H "${TOKEN_HEADER}: $AUTH_TOKEN"`,
    `-H 'content-type: application/json'`,
    `-d '${body}'`,
  ].join(' \\\n  ')
}

const rpcOf = ({ tool, args }: Call): string =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${JSON.stringify(tool)},"arguments":${args}}}`

const scriptOf = (call: Call): string =>
  `const reply = await fetch(${JSON.stringify(addressOf(call))}, {
  method: 'POST',
  headers: { ${JSON.stringify(TOKEN_HEADER)}: process.env.AUTH_TOKEN ?? '', 'content-type': 'application/json' },
  body: JSON.stringify({ arguments: ${call.args} }),
})
console.log(await reply.json())
`
