import { Switch } from '@mantine/core'
import { Link } from 'wouter'
import type { Schemas } from '../../../data/api.ts'
import { switchTools, type Tool } from '../../../data/server/server-changes.ts'
import type { Server } from '../../../data/servers.ts'
import { useSession } from '../../../data/session.ts'
import { count, duration, tokens } from '../../../format/format.ts'
import { Cell, Head, Row, Table } from '../../../parts/content/Table.tsx'
import { showFailure } from '../../../parts/controls/toasts.tsx'
import { Tag } from '../../../parts/marks/Tag.tsx'
import { t } from './messages.ts'
import css from './Tools.module.css'

interface Props {
  readonly server: Server
  readonly tools: readonly Tool[]
  readonly figures: readonly Schemas['ToolFigures'][]
}

export function ToolTable({ server, tools, figures }: Props) {
  return (
    <div className={css.table}>
      <Table label={t('title')}>
        <thead>
          <tr>
            <Head width={60}>{t('on')}</Head>
            <Head>{t('tool')}</Head>
            <Head width={150}>{t('badges')}</Head>
            <Head number width={76}>
              {t('tokens')}
            </Head>
            <Head number width={80}>
              {t('calls')}
            </Head>
            <Head number width={76}>
              {t('p95')}
            </Head>
          </tr>
        </thead>
        <tbody>
          {tools.map((tool) => {
            const figure = figures.find((each) => each.tool === tool.name)
            return (
              <Row key={tool.name}>
                <Cell>
                  <ToolSwitch server={server} tool={tool} />
                </Cell>
                <Cell>
                  <Link
                    href={`/playground?server=${server.id}&tool=${encodeURIComponent(tool.name)}`}
                    className={`mono ${css.name}`}
                  >
                    {tool.name}
                  </Link>
                  <span className={`muted sm ${css.description}`} title={tool.description ?? undefined}>
                    {tool.description ?? tool.title}
                  </span>
                </Cell>
                <Cell>
                  <Badges tool={tool} />
                </Cell>
                <Cell number>{tokens(tool.tokens)}</Cell>
                <Cell number>{count(figure?.calls.total)}</Cell>
                <Cell number>{duration(figure?.latency_ms.p95)}</Cell>
              </Row>
            )
          })}
        </tbody>
      </Table>
    </div>
  )
}

/** Moves at once, and returns with a reason if the change is refused. */
function ToolSwitch({ server, tool }: { readonly server: Server; readonly tool: Tool }) {
  const { mayChange } = useSession()
  const set = (enabled: boolean) =>
    switchTools(server, [tool.name], enabled).catch((error: unknown) => showFailure(error))
  return (
    <Switch
      aria-label={t('isOn', { name: tool.name })}
      checked={server.tools[tool.name]?.enabled ?? tool.enabled}
      disabled={!mayChange}
      onChange={({ currentTarget }) => void set(currentTarget.checked)}
    />
  )
}

/** What the server says about the tool. Without a hint it may change data. */
function Badges({ tool: { annotations, state } }: { readonly tool: Tool }) {
  const says = (hint: string) => annotations?.[hint] === true
  return (
    <span className={css.badges}>
      {says('readOnlyHint') && <Tag>{t('readOnly')}</Tag>}
      {!says('readOnlyHint') && says('destructiveHint') && (
        <Tag tone="warn" glyph="look">
          {t('destructive')}
        </Tag>
      )}
      {annotations?.readOnlyHint === false && !says('destructiveHint') && <Tag>{t('writes')}</Tag>}
      {state === 'held' && (
        <Tag tone="warn" glyph="look">
          {t('held')}
        </Tag>
      )}
    </span>
  )
}
