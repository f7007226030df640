import { PageHead } from '../../parts/content/PageHead.tsx'
import { ChartParts } from './ChartParts.tsx'
import { ContentParts } from './ContentParts.tsx'
import { ControlParts } from './ControlParts.tsx'
import { IsolationParts } from './IsolationParts.tsx'
import { LiveChartParts } from './LiveChartParts.tsx'
import { MarkParts } from './MarkParts.tsx'
import { t } from './messages.ts'
import css from './Parts.module.css'
import { ServerParts } from './ServerParts.tsx'
import { StateParts } from './StateParts.tsx'

/** Every part in every state. Only in development; not part of the build. */
export function Page() {
  return (
    <div className="page">
      <PageHead title={t('title')} count={t('about')} />
      <div className={css.grid}>
        <MarkParts />
        <ControlParts />
        <StateParts />
        <ChartParts />
        <ContentParts />
        <ServerParts />
        <IsolationParts />
        <LiveChartParts />
      </div>
    </div>
  )
}
