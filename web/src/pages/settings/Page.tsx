import { type ReactNode, useEffect } from 'react'
import { useShort } from '../../data/live/home-folder.ts'
import { useSession } from '../../data/session.ts'
import { type Setting, useSettings } from '../../data/settings.ts'
import { PageHead } from '../../parts/content/PageHead.tsx'
import { CauseStrip } from '../../parts/states/CauseStrip.tsx'
import { ErrorState, NeedsPermission } from '../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import { oneOf, searchState, useSearchState } from '../../url/search-state.ts'
import { About } from './About.tsx'
import { Group } from './Entry.tsx'
import { General } from './General.tsx'
import { Keys } from './Keys.tsx'
import { Mutes } from './Mutes.tsx'
import { t } from './messages.ts'
import { Redaction } from './Redaction.tsx'
import { Secrets } from './Secrets.tsx'
import { SettingRow } from './SettingRow.tsx'
import css from './Settings.module.css'
import { SETTINGS } from './sections.ts'
import { Token } from './Token.tsx'
import { Transfer } from './Transfer.tsx'

const SECTIONS = [
  'general',
  'access',
  'gateway',
  'privacy',
  'retention',
  'notifications',
  'export',
  'about',
] as const
const search = searchState({ section: oneOf(SECTIONS, 'general') })

/** Every setting with its key and its variable, and what belongs to it. */
export function Page() {
  const [{ section }, change] = useSearchState(search)
  const { mayChange } = useSession()
  const { data, error } = useSettings()
  const short = useShort()
  const settings = data?.items ?? []
  const home = settings.find(({ key }) => key === 'toolroom_home')?.value
  const isRead = data !== undefined
  // Only when a section is chosen or the settings have come, not after every change.
  useEffect(() => {
    if (isRead && location.search !== '') document.getElementById(section)?.scrollIntoView({ block: 'start' })
  }, [section, isRead])
  const rows = (name: string) =>
    (SETTINGS[name] ?? []).map(([key, control]) => {
      const setting = settings.find((each) => each.key === key)
      return setting && <SettingRow key={key} setting={setting} control={control} />
    })
  const needed = (content: ReactNode) => {
    if (!mayChange) return <NeedsPermission />
    if (error) return <ErrorState error={error} />
    return data ? content : <Skeleton rows={3} height={60} />
  }
  return (
    <div className="page">
      <PageHead title={t('title')}>
        <span className="muted sm">
          {t('precedence')}{' '}
          {typeof home === 'string' && <code className="mono">{short(`${home}/config.json`)}</code>}
        </span>
      </PageHead>
      <div className={css.two}>
        <nav className={css.nav} aria-label={t('sections')}>
          {SECTIONS.map((each) => (
            <button
              key={each}
              type="button"
              aria-current={each === section ? 'true' : undefined}
              onClick={() => change({ section: each })}
            >
              {t(each)}
            </button>
          ))}
        </nav>
        <div className={css.groups}>
          <Group id="general" title={t('general')}>
            <General />
            {needed(rows('general'))}
          </Group>
          <Group id="access" title={t('access')}>
            {needed(
              <>
                <Reach settings={settings} />
                <Token />
                {rows('access')}
              </>,
            )}
          </Group>
          <Group id="gateway" title={t('gateway')}>
            {needed(rows('gateway'))}
          </Group>
          <Group id="keys" title={t('keys')}>
            {needed(<Keys />)}
          </Group>
          <Group id="privacy" title={t('privacy')}>
            {needed(
              <>
                {rows('privacy')}
                <Redaction />
                <Secrets />
              </>,
            )}
          </Group>
          <Group id="retention" title={t('retention')}>
            {needed(rows('retention'))}
          </Group>
          <Group id="notifications" title={t('notifications')}>
            {needed(<Mutes />)}
          </Group>
          <Group id="export" title={t('export')}>
            {needed(<Transfer />)}
          </Group>
          <Group id="about" title={t('about')}>
            <About settings={settings} />
          </Group>
        </div>
      </div>
    </div>
  )
}

const LOOPBACK = /^(localhost|127\.|\[?::1\]?$)/

/** Others can reach the service: this is said before everything else. */
function Reach({ settings }: { readonly settings: readonly Setting[] }) {
  const host = settings.find(({ key }) => key === 'host')?.value
  if (typeof host !== 'string' || LOOPBACK.test(host)) return null
  return <CauseStrip tone="err" sentence={t('open')} evidence={host} advice={t('openText')} />
}
