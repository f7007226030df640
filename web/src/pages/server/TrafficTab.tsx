import { Link, useLocation } from 'wouter'
import type { Call } from '../../data/api.ts'
import { useCalls } from '../../data/calls.ts'
import type { Server } from '../../data/servers.ts'
import { duration } from '../../format/format.ts'
import { Cell, Head, Row, Table } from '../../parts/content/Table.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import type { GlyphName, Tone } from '../../parts/marks/Glyph.tsx'
import { ShownText } from '../../parts/marks/StatusText.tsx'
import { Time } from '../../parts/marks/Time.tsx'
import { EmptyState } from '../../parts/states/EmptyState.tsx'
import { ErrorState } from '../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import { t } from './messages.ts'

const SHOWN = 50
const MARKS: Record<
  Call['status'],
  { readonly glyph: GlyphName; readonly tone: Tone; readonly word: string }
> = {
  ok: { glyph: 'tick', tone: 'ok', word: t('ok') },
  error: { glyph: 'err', tone: 'err', word: t('failed') },
  timeout: { glyph: 'err', tone: 'err', word: t('timeout') },
  cancelled: { glyph: 'stop', tone: 'idle', word: t('cancelled') },
}

/** Its last calls. The page Traffic has all of them, with their payloads. */
export function TrafficTab({ server }: { readonly server: Server }) {
  const [, navigate] = useLocation()
  const { data: calls, error } = useCalls({ server_id: [server.id] }, SHOWN)
  if (error) return <ErrorState error={error} />
  return (
    <section className="card" aria-label={t('traffic')}>
      <div className="card-head">
        <h2>{t('traffic')}</h2>
        <Link href={`/traffic?servers=${server.id}`} className="right sm">
          {t('openTraffic')}
        </Link>
      </div>
      {!calls && <Skeleton rows={6} />}
      {calls?.length === 0 && (
        <EmptyState title={t('noCalls')} text={t('noCallsText')}>
          <Act onClick={() => navigate(`/playground?server=${server.id}`)}>{t('tryTools')}</Act>
        </EmptyState>
      )}
      {calls && calls.length > 0 && (
        <Table label={t('traffic')} least={520}>
          <thead>
            <tr>
              <Head width={84}>{t('at')}</Head>
              <Head>{t('tool')}</Head>
              <Head width="18%">{t('agent')}</Head>
              <Head width={110}>{t('status')}</Head>
              <Head number width={80}>
                {t('duration')}
              </Head>
            </tr>
          </thead>
          <tbody>
            {calls.slice(0, SHOWN).map((call) => (
              <Row key={call.id}>
                <Cell className="muted">
                  <Time at={call.started_at} exact />
                </Cell>
                <Cell className="mono">
                  <Link href={`/traffic?servers=${server.id}&call=${call.id}`}>{call.tool}</Link>
                </Cell>
                <Cell>{call.agent_type ?? t('byApi')}</Cell>
                <Cell>
                  <ShownText shown={MARKS[call.status]} />
                </Cell>
                <Cell number>{duration(call.duration_ms)}</Cell>
              </Row>
            ))}
          </tbody>
        </Table>
      )}
    </section>
  )
}
