import { duration } from '../../format/format.ts'
import { texts } from '../../i18n/texts.ts'
import css from './TimeSplit.module.css'

const t = texts('time-split', { queue: 'queue', start: 'cold start', server: 'server' })

interface Props {
  readonly queue_ms: number
  readonly start_ms: number
  readonly server_ms: number
  readonly failed?: boolean
}

/** Where the time of a call went: in Toolroom, in the start of the server, in the server. */
export function TimeSplit({ queue_ms, start_ms, server_ms, failed = false }: Props) {
  const parts = [
    { name: t('queue'), ms: queue_ms, look: css.queue },
    { name: t('start'), ms: start_ms, look: css.start },
    { name: t('server'), ms: server_ms, look: failed ? css.failed : css.server },
  ]
  return (
    <div>
      <div className={css.bar} aria-hidden="true">
        {parts.map(
          ({ name, ms, look }) => ms > 0 && <i key={name} className={look} style={{ flexGrow: ms }} />,
        )}
      </div>
      <dl className={css.parts}>
        {parts.map(({ name, ms }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{duration(ms < 0.05 ? 0 : ms)}</dd>
          </div>
        ))}
      </dl>
    </div>
  )
}
