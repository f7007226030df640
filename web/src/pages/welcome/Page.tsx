import { useEffect, useRef } from 'react'
import { useSession } from '../../data/session.ts'
import { usePageTitle } from '../../parts/content/PageHead.tsx'
import { Glyph } from '../../parts/marks/Glyph.tsx'
import { Icon, Mark } from '../../parts/marks/icons.tsx'
import { ErrorState, NeedsPermission } from '../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import { Changes } from './Changes.tsx'
import { Choose } from './Choose.tsx'
import { Connect } from './Connect.tsx'
import { Done } from './Done.tsx'
import { Found } from './Found.tsx'
import { t } from './messages.ts'
import { NoAgents } from './NoAgents.tsx'
import side from './Side.module.css'
import { STEPS, useWelcome, type Welcome } from './state.ts'
import css from './Welcome.module.css'

const VIEWS = { '1': Found, '2': Choose, '3': Connect, '4': Changes, '5': Done } as const

/** The first run in five steps. Nothing is changed before step 4. */
export function Page() {
  const welcome = useWelcome()
  const { step } = welcome.state
  const { mayChange } = useSession()
  const main = useRef<HTMLElement>(null)
  usePageTitle(t('title'))
  // A new step begins at its top, also for the keyboard and for screen readers.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the step matters
  useEffect(() => {
    main.current?.focus({ preventScroll: true })
    scrollTo(0, 0)
  }, [step])
  const View = VIEWS[step]
  const { found, error } = welcome
  const isEmpty = step === '1' && found?.every(({ entries, isBroken }) => entries === 0 && !isBroken)
  return (
    <div className={side.frame}>
      <Side welcome={welcome} />
      <main id="content" ref={main} tabIndex={-1} className={css.main}>
        {!mayChange && <NeedsPermission isAlone />}
        {error && <ErrorState error={error} />}
        {!found && !error && <Skeleton rows={8} height={44} />}
        {found && (isEmpty ? <NoAgents /> : <View welcome={welcome} />)}
      </main>
    </div>
  )
}

function Side({ welcome: { state } }: { readonly welcome: Welcome }) {
  const count = state.undone ? 0 : state.wrote.length
  const { imported = 0 } = state
  return (
    <aside className={side.side} aria-label={t('steps')}>
      <div className={side.brand}>
        <Mark />
        Toolroom
      </div>
      <ol className={side.steps}>
        {STEPS.map((step) => {
          const isDone = step < state.step
          return (
            <li
              key={step}
              aria-current={step === state.step ? 'step' : undefined}
              data-done={isDone || undefined}
            >
              <span className={side.number}>{isDone ? <Glyph name="tick" size={10} /> : step}</span>
              {t(`step${step}`)}
            </li>
          )
        })}
      </ol>
      <div className={`sm muted ${side.promise}`} role="status">
        <div className="row">
          <Icon name="shield" />
          <b>
            {count > 0
              ? t('changed', { count })
              : imported > 0
                ? t('added', { count: imported })
                : t('unchanged')}
          </b>
        </div>
        <p>{t(count > 0 ? 'changedText' : imported > 0 ? 'addedText' : 'unchangedText')}</p>
      </div>
    </aside>
  )
}
