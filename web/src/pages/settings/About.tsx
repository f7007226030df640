import { type Setting, useHealth } from '../../data/settings.ts'
import { long } from '../../format/format.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { showDone, showFailure } from '../../parts/controls/toasts.tsx'
import { Entry } from './Entry.tsx'
import { t } from './messages.ts'

/** The version, where it runs, and the facts for a report of a fault. */
export function About({ settings }: { readonly settings: readonly Setting[] }) {
  const { data: health } = useHealth()
  const copy = () => {
    const known = settings.map(({ key, value, source }) => ({ key, value, source }))
    const text = JSON.stringify({ health, browser: navigator.userAgent, settings: known }, null, 2)
    return navigator.clipboard.writeText(text).then(() => showDone(t('copied')), showFailure)
  }
  return (
    <>
      <Entry name={t('versionName')}>
        <span>{health?.version}</span>
      </Entry>
      <Entry name={t('addressName')}>
        <code className="mono">{location.origin}</code>
      </Entry>
      <Entry name={t('uptime')}>
        <span>{health && long(health.uptime_s)}</span>
      </Entry>
      <Entry name={t('documentation')}>
        <a href="/docs">{t('apiDocs')}</a>
      </Entry>
      <Entry name={t('diagnostics')} text={t('diagnosticsText')}>
        <Act icon="copy" onClick={() => void copy()}>
          {t('copy')}
        </Act>
      </Entry>
    </>
  )
}
