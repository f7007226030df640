import type { Notice } from '../../../data/api.ts'
import { useLogs } from '../../../data/logs.ts'
import { useMarkSeen } from '../../../data/notices.ts'
import { type Tool, type ToolDiff, useApproveTool } from '../../../data/server/server-changes.ts'
import type { Server } from '../../../data/servers.ts'
import { Act } from '../../../parts/controls/Act.tsx'
import { showDone, showFailure } from '../../../parts/controls/toasts.tsx'
import { Glyph } from '../../../parts/marks/Glyph.tsx'
import { sentence } from '../../../parts/server/cause.ts'
import { t } from './messages.ts'
import css from './Tools.module.css'

interface Props {
  readonly server: Server
  readonly tools: readonly Tool[]
  readonly notice: Notice | undefined
}

/** New and changed tools, word by word. Held ones wait for a decision; others only for a look. */
export function Changes({ server, tools, notice }: Props) {
  const held = tools.filter(({ state }) => state === 'held')
  if (held.length > 0) return <Held server={server} held={held} notice={notice} />
  return notice ? <Changed server={server} notice={notice} /> : null
}

interface HeldProps {
  readonly server: Server
  readonly held: readonly Tool[]
  readonly notice: Notice | undefined
}

function Held({ server, held, notice }: HeldProps) {
  const approve = useApproveTool(server)
  const seen = useMarkSeen()
  const accept = (tool: Tool) =>
    approve.mutate(tool, {
      onSuccess: () => showDone(t('approved', { name: tool.name })),
      onError: (error) => showFailure(error),
    })
  const title = t('heldTitle', { count: held.length })
  return (
    <section className={`card ${css.changes}`} aria-label={title}>
      <div className="card-head">
        <span className="warn">
          <Glyph name="look" />
        </span>
        <h2>{title}</h2>
        <span className="right row">
          {notice?.seen_at === null && (
            <Act size="xs" look="quiet" changes onClick={() => seen.mutate(notice.id)}>
              {t('keep')}
            </Act>
          )}
          {held.length > 1 && (
            <Act size="xs" changes busy={approve.isPending} onClick={() => held.forEach(accept)}>
              {t('approveAll')}
            </Act>
          )}
        </span>
      </div>
      <p className={`muted ${css.inside}`}>{t('heldText')}</p>
      {held.map((tool) => (
        <div key={tool.name} className={css.change}>
          <div className="row">
            <span className="mono strong grow">{tool.name}</span>
            <Act size="xs" changes busy={approve.isPending} onClick={() => accept(tool)}>
              {t('approve')}
            </Act>
          </div>
          {(tool.change?.diffs ?? []).map((diff) => (
            <Words key={diff.field} diff={diff} />
          ))}
        </div>
      ))}
    </section>
  )
}

interface ChangedProps {
  readonly server: Server
  readonly notice: Notice
}

function Changed({ server, notice }: ChangedProps) {
  const seen = useMarkSeen()
  const diffs = useLoggedDiffs(server.id)
  return (
    <section className={`card ${css.changes}`} aria-label={t('changedTitle')}>
      <div className="card-head">
        <span className="warn">
          <Glyph name="look" />
        </span>
        <h2>{t('changedTitle')}</h2>
        {notice.seen_at === null && (
          <span className="right">
            <Act
              size="xs"
              changes
              busy={seen.isPending}
              onClick={() => seen.mutate(notice.id, { onError: (error) => showFailure(error) })}
            >
              {t('seen')}
            </Act>
          </span>
        )}
      </div>
      <p className={css.inside}>
        {withoutTodo(sentence(notice.text))} <span className="muted">{t('changedText')}</span>
        {notice.evidence && <span className="mono muted"> {notice.evidence}</span>}
      </p>
      {diffs.length === 0 && <p className={`muted ${css.inside}`}>{t('noDiff')}</p>}
      {diffs.map((diff) => (
        <div key={diff.tool + diff.field} className={css.change}>
          <span className="mono strong">{diff.tool}</span>
          <Words diff={diff} />
        </div>
      ))}
    </section>
  )
}

/** A change that is not held is described in the log, so it can be read after a reload, too. */
function useLoggedDiffs(id: string): readonly ToolDiff[] {
  const { data: lines = [] } = useLogs(
    { server_id: [id], level: 'warn', source: ['service', 'gateway'] },
    100,
  )
  const line = lines.find(({ data }) => Array.isArray(data?.diffs))
  return (line?.data?.diffs ?? []) as ToolDiff[]
}

function Words({ diff: { tool, field, words } }: { readonly diff: ToolDiff }) {
  return (
    <figure style={{ margin: 0 }} aria-label={t('diffOf', { tool, field })}>
      <figcaption className="mono muted xs">{field.replace(/^\//, '')}</figcaption>
      <p className={css.words}>
        {words.map(({ op, text }, index) => {
          const key = `${index}${op}`
          if (op === 'added') return <ins key={key}>{text}</ins>
          if (op === 'removed') return <del key={key}>{text}</del>
          return <span key={key}>{text}</span>
        })}
      </p>
    </figure>
  )
}

/** This is the page on which it is done. */
const withoutTodo = (text: string): string => text.replace(/ Review them\.$/, '')
