import type { Agent } from '../../data/api.ts'
import { program } from '../../data/browser/program.ts'
import { useAutostart, useInstallAutostart, useSettings } from '../../data/settings.ts'
import { texts } from '../../i18n/texts.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { showFailure } from '../../parts/controls/toasts.tsx'
import { Glyph } from '../../parts/marks/Glyph.tsx'
import css from './Welcome.module.css'

const t = texts('atLogin', {
  title: 'When Toolroom is not running',
  starting: {
    one: '{agents} starts Toolroom with its first call.',
    other: '{agents} start Toolroom with their first call.',
  },
  cutOff: {
    one: '{agents} loses its tools until you run {command}.',
    other: '{agents} lose their tools until you run {command}.',
  },
  install: 'Start at login',
  file: 'Writes {file}. {program} service uninstall removes it.',
  installed: 'Toolroom starts at every login.',
  problem: 'Toolroom cannot start at login here. {problem}.',
})

/** What happens to these agents without the service once they are connected, and the offer to start it at every login. */
export function StartAtLogin({ agents }: { readonly agents: readonly Agent[] }) {
  const { data: login } = useAutostart()
  const { data: settings } = useSettings()
  const install = useInstallAutostart()
  if (!login || !settings) return null
  if (login.starts_at_login)
    return (
      <p className="ok row">
        <Glyph name="run" />
        {t('installed')}
      </p>
    )
  const isOn = settings.items.find(({ key }) => key === 'agents_start_service')?.value === true
  const starting = agents.filter((agent) => isOn && startsToolroom(agent))
  const cutOff = agents.filter((agent) => !starting.includes(agent))
  const up = (
    <code key="command" className="mono">
      {program} up
    </code>
  )
  return (
    <section className={`card ${css.box}`} aria-label={t('title')}>
      <h2>{t('title')}</h2>
      {starting.length > 0 && <p>{t('starting', { count: starting.length, agents: namesOf(starting) })}</p>}
      {cutOff.length > 0 && (
        <p>{t.rich('cutOff', { count: cutOff.length, agents: namesOf(cutOff), command: up })}</p>
      )}
      {login.problem === null ? (
        <div className="row">
          <Act
            changes
            busy={install.isPending}
            onClick={() => install.mutate(undefined, { onError: (failure) => showFailure(failure) })}
          >
            {t('install')}
          </Act>
          <span className={`muted ${css.path}`}>{t('file', { file: login.file ?? '', program })}</span>
        </div>
      ) : (
        <p className={`muted ${css.path}`}>{t('problem', { problem: login.problem })}</p>
      )}
    </section>
  )
}

/** One that accepts no URL gets a command. */
const startsToolroom = ({ connected_via, starts_toolroom, transports }: Agent): boolean =>
  connected_via === 'gateway' ? starts_toolroom === true : !transports.includes('http')

const LIST = new Intl.ListFormat('en')
const namesOf = (agents: readonly Agent[]): string => LIST.format(agents.map(({ name }) => name))
