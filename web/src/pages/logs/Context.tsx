import { Modal } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { useLogContext } from '../../data/logs.ts'
import { useServers } from '../../data/servers.ts'
import { seconds } from '../../format/format.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { showDone, showFailure } from '../../parts/controls/toasts.tsx'
import { ErrorState } from '../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import { Line } from './Line.tsx'
import css from './Logs.module.css'
import { t } from './messages.ts'

const EACH = 20

interface Props {
  readonly id: number
  readonly sought: string
  readonly onClose: () => void
}

/** A line with the 20 before and after it, whatever the filter shows. Its address is a link to this line. */
export function Context({ id, sought, onClose }: Props) {
  const { data, error } = useLogContext(id, {}, EACH)
  const { servers = [] } = useServers()
  const box = useRef<HTMLDivElement>(null)
  const nameOf = (server_id: string | null) =>
    servers.find((server) => server.id === server_id)?.name ?? server_id
  useEffect(() => {
    if (data) box.current?.querySelector('[data-selected]')?.scrollIntoView({ block: 'center' })
  }, [data])
  const line = data?.find((each) => each.id === id)
  const copy = () =>
    navigator.clipboard.writeText(location.href).then(() => showDone(t('copied')), showFailure)
  return (
    <Modal opened onClose={onClose} title={t('context')} size={1080}>
      <div className={css.context}>
        <div className="row">
          <span className="muted grow">
            {line
              ? t('contextOf', { server: nameOf(line.server_id) ?? t('toolroom'), at: seconds(line.ts) })
              : data && t('gone')}
          </span>
          <Act icon="link" onClick={() => void copy()}>
            {t('copyLink')}
          </Act>
        </div>
        {error && <ErrorState error={error} />}
        {!data && !error && <Skeleton rows={20} height={21} />}
        {data && (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it can be focused
          <section ref={box} className={css.around} tabIndex={0} aria-label={t('context')}>
            {data.map((each) => (
              <Line
                key={each.id}
                row={{ line: each, trace: 0, isTrace: false }}
                name={nameOf(each.server_id)}
                sought={sought}
                isSelected={each.id === id}
              />
            ))}
          </section>
        )}
      </div>
    </Modal>
  )
}
