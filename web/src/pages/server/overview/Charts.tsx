import { useMemo } from 'react'
import { STEP, useSeriesOf, WINDOWS, type Window } from '../../../data/metrics.ts'
import type { Server } from '../../../data/servers.ts'
import { bytes, clock, count, duration, percent, seconds, share } from '../../../format/format.ts'
import { Chart, type Line } from '../../../parts/charts/Chart.tsx'
import { Cell, Head, Row, Table } from '../../../parts/content/Table.tsx'
import { Act } from '../../../parts/controls/Act.tsx'
import { Seg } from '../../../parts/controls/Seg.tsx'
import { useSearchState } from '../../../url/search-state.ts'
import { search } from '../search.ts'
import { t } from './messages.ts'
import css from './Overview.module.css'

const RANGES = WINDOWS.map((value) => ({ value, label: value.replace(/(\d+)/, '$1 ') }))

/** Latency, calls, CPU and memory over time, as charts or as a table. */
export function Charts({ server }: { readonly server: Server }) {
  const [{ window, table }, setSearch] = useSearchState(search)
  const data = useData(server, window)
  const wasDown = data.down.some(Boolean)
  return (
    <section className={css.column} aria-label={t(`last${window}`)}>
      <div className="row" style={{ flexWrap: 'wrap' }}>
        <h2 style={{ fontSize: 'inherit', fontWeight: 600 }}>{t(`last${window}`)}</h2>
        {wasDown && !table && <span className="muted sm">{t('shaded')}</span>}
        <span className="right row">
          <Act size="xs" look="quiet" onClick={() => setSearch({ table: !table })}>
            {table ? t('asCharts') : t('asTable')}
          </Act>
          <Seg
            label={t('range')}
            value={window}
            options={RANGES}
            onChange={(next) => setSearch({ window: next })}
          />
        </span>
      </div>
      {table ? (
        <Values data={data} window={window} />
      ) : (
        <Pictures server={server} data={data} window={window} />
      )}
    </section>
  )
}

type Data = ReturnType<typeof useData>

function useData({ id }: Server, window: Window) {
  const { data: calls } = useSeriesOf(id, window, 'tool_call')
  const { data: resources } = useSeriesOf(id, window, 'resources')
  return useMemo(() => {
    const points = (calls?.points ?? []).filter((point) => 'calls' in point)
    const used = new Map(
      (resources?.points ?? []).flatMap((point) => ('cpu_pct' in point ? [[point.ts, point] as const] : [])),
    )
    return {
      times: points.map(({ ts }) => Date.parse(ts) / 1000),
      p50: points.map((point) => point.p50),
      p95: points.map((point) => point.p95),
      calls: points.map((point) => point.calls),
      errors: points.map((point) => point.errors),
      down: points.map((point) => point.down_s >= STEP[window].s / 2),
      cpu: points.map(({ ts }) => used.get(ts)?.cpu_pct?.avg ?? null),
      rss: points.map(({ ts }) => used.get(ts)?.rss_bytes?.avg ?? null),
      total: calls?.calls,
      latency: calls?.latency_ms,
    }
  }, [calls, resources, window])
}

interface DataProps {
  readonly data: Data
  readonly window: Window
}

function Pictures({ server, data, window }: DataProps & { readonly server: Server }) {
  const { total, latency } = data
  const base = { server, window, data }
  const last = (values: readonly (number | null)[]) => values.findLast((value) => value !== null)
  return (
    <div className={css.charts}>
      <Figure
        {...base}
        title={t('latency')}
        format={duration}
        lines={[
          { label: t('p50'), values: data.p50, color: 'g-p50', shown: duration(latency?.p50) },
          { label: t('p95'), values: data.p95, color: 'g-p95', dashed: true, shown: duration(latency?.p95) },
        ]}
      />
      <Figure
        {...base}
        title={t('calls')}
        format={whole}
        lines={[
          {
            label: t('callsLegend'),
            values: data.calls,
            color: 'g-pulse',
            bars: true,
            shown: count(total?.total),
          },
          {
            label: t('errorsLegend'),
            values: data.errors,
            color: 'g-err',
            bars: true,
            shown: share(total && total.total > 0 ? total.error_rate : null),
          },
        ]}
      />
      {server.type === 'stdio' && (
        <>
          <Figure
            {...base}
            title={t('cpu')}
            format={percent}
            lines={[{ label: t('now'), values: data.cpu, color: 'g-1', shown: percent(last(data.cpu)) }]}
          />
          <Figure
            {...base}
            title={t('memory')}
            format={bytes}
            lines={[
              { label: t('now'), values: data.rss, color: 'g-1', filled: true, shown: bytes(last(data.rss)) },
            ]}
          />
        </>
      )}
    </div>
  )
}

const whole = (value: number): string => (Number.isInteger(value) ? count(value) : '')

interface FigureProps extends DataProps {
  readonly server: Server
  readonly title: string
  readonly format: (value: number) => string
  readonly lines: readonly (Line & { readonly shown: string })[]
}

/** The values in the title row are the legend. Without a value there is only this row. */
function Figure({ server, window, data, title, format, lines }: FigureProps) {
  const isEmpty = lines.every(({ values, bars }) =>
    values.every((value) => value === null || (bars && value === 0)),
  )
  if (isEmpty)
    return (
      <figure className={`card ${css.figure}`}>
        <figcaption className={css.caption}>
          <span className="strong">{title}</span>
          <span className="right sm muted">{t('noData')}</span>
        </figcaption>
      </figure>
    )
  return (
    <figure className={`card ${css.figure}`}>
      <figcaption className={css.caption}>
        <span className="strong">{title}</span>
        <span className="right row xs muted">
          {lines.map(({ label, color, dashed, shown }) => (
            <span key={label} className={css.legend}>
              <i
                className={`${css.swatch} ${dashed ? css.dashed : ''}`}
                style={{ borderColor: `var(--tr-${color})` }}
              />
              {label} <b>{shown}</b>
            </span>
          ))}
        </span>
      </figcaption>
      <Chart
        label={t('chartOf', { chart: title, name: server.name, range: t(`last${window}`).toLowerCase() })}
        times={data.times}
        down={data.down}
        format={format}
        lines={lines.map(({ shown: _, ...line }) => line)}
      />
    </figure>
  )
}

function Values({ data, window }: DataProps) {
  const shownTime = window === '5m' ? seconds : clock
  return (
    <div className="card">
      <Table label={t(`last${window}`)} least={560}>
        <thead>
          <tr>
            <Head>{t('time')}</Head>
            <Head number>{t('callsLegend')}</Head>
            <Head number>{t('errorsLegend')}</Head>
            <Head number>{t('p50')}</Head>
            <Head number>{t('p95')}</Head>
            <Head number>{t('cpu')}</Head>
            <Head number>{t('memory')}</Head>
          </tr>
        </thead>
        <tbody>
          {data.times.map((time, index) => (
            <Row key={time}>
              <Cell className={data.down[index] ? 'err' : ''}>
                {shownTime(time * 1000)} {data.down[index] && t('down')}
              </Cell>
              <Cell number>{count(data.calls[index])}</Cell>
              <Cell number>{count(data.errors[index])}</Cell>
              <Cell number>{duration(data.p50[index])}</Cell>
              <Cell number>{duration(data.p95[index])}</Cell>
              <Cell number>{percent(data.cpu[index])}</Cell>
              <Cell number>{bytes(data.rss[index])}</Cell>
            </Row>
          ))}
        </tbody>
      </Table>
    </div>
  )
}
