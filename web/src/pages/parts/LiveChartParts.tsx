import { useState } from 'react'
import { count, seconds } from '../../format/format.ts'
import { Chart } from '../../parts/charts/Chart.tsx'
import { Cell, Head, Row, Table } from '../../parts/content/Table.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { useNow } from '../../parts/marks/Time.tsx'
import { CHARTS, POINTS, valueAt } from './live-values.ts'
import { t } from './messages.ts'
import { Part } from './Part.tsx'

const NUMBERS = Array.from({ length: CHARTS }, (_, chart) => chart)

/** As many charts as a page may have, drawn again every second, and their values as a table. */
export function LiveChartParts() {
  const [shown, setShown] = useState<'nothing' | 'charts' | { readonly until: number }>('nothing')
  return (
    <Part title={t('liveCharts')}>
      <div className="row">
        <Act onClick={() => setShown('charts')}>{t('liveStart')}</Act>
        <Act onClick={() => setShown({ until: Math.floor(Date.now() / 1000) })}>{t('liveTable')}</Act>
      </div>
      {shown === 'charts' && <Live />}
      {typeof shown === 'object' && <Values times={timesUntil(shown.until)} />}
    </Part>
  )
}

const timesUntil = (second: number): number[] =>
  Array.from({ length: POINTS }, (_, index) => second - POINTS + 1 + index)

function Live() {
  const times = timesUntil(useNow(1000) / 1000)
  return NUMBERS.map((chart) => (
    <Chart
      key={chart}
      label={t('liveChart', { chart })}
      times={times}
      lines={[
        { label: 'p50', values: times.map((second) => valueAt(chart, 0, second)), color: 'g-p50' },
        { label: 'p95', values: times.map((second) => valueAt(chart, 1, second)), color: 'g-p95' },
      ]}
      format={count}
    />
  ))
}

function Values({ times }: { readonly times: readonly number[] }) {
  return (
    <Table label={t('liveCharts')}>
      <thead>
        <tr>
          <Head>{t('liveTime')}</Head>
          {NUMBERS.map((chart) => (
            <Head key={chart} number>
              {chart}
            </Head>
          ))}
        </tr>
      </thead>
      <tbody>
        {times.map((second) => (
          <Row key={second}>
            <Cell>{seconds(second * 1000)}</Cell>
            {NUMBERS.map((chart) => (
              <Cell key={chart} number>
                {count(valueAt(chart, 0, second))}
              </Cell>
            ))}
          </Row>
        ))}
      </tbody>
    </Table>
  )
}
