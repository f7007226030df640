import { Link, useLocation } from 'wouter'
import { endFirstRun } from '../../data/first-run/first-run.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { AddSample } from '../../parts/server/AddSample.tsx'
import { t } from './messages.ts'
import css from './Welcome.module.css'

const WAYS = [
  ['/packages', t('door1'), t('door1Text')],
  ['/servers?add=1', t('door2'), t('door2Text')],
  ['/agents', t('door3'), t('door3Text')],
] as const

/** No agent has a server: a sample server, and three other ways to begin. */
export function NoAgents() {
  const [, navigate] = useLocation()
  const skip = () => {
    endFirstRun()
    navigate('/')
  }
  return (
    <>
      <div>
        <h1 className={css.title}>{t('none')}</h1>
        <p className={css.lead}>{t('noneText')}</p>
      </div>
      <section className={`card ${css.box}`}>
        <h2>{t('sample')}</h2>
        <p className="muted">{t('sampleText')}</p>
        <div>
          <AddSample look="main" />
        </div>
      </section>
      <div className={css.ways}>
        {WAYS.map(([href, title, text]) => (
          <Link key={href} href={href} className={`card ${css.way}`}>
            <b className="strong">{title}</b>
            <span className="muted">{text}</span>
          </Link>
        ))}
      </div>
      <div className={css.foot}>
        <span className="right" />
        <Act look="quiet" size="md" onClick={skip}>
          {t('skip')}
        </Act>
      </div>
    </>
  )
}
