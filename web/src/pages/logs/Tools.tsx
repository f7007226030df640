import { Button, Menu } from '@mantine/core'
import { useState } from 'react'
import type { Schemas } from '../../data/api.ts'
import { downloadLogs, type LogFormat } from '../../data/logs.ts'
import { PageHead } from '../../parts/content/PageHead.tsx'
import { Act, IconAct } from '../../parts/controls/Act.tsx'
import { showDone, showFailure } from '../../parts/controls/toasts.tsx'
import { Icon } from '../../parts/marks/icons.tsx'
import { Keys } from '../../parts/marks/Keys.tsx'
import { Pill } from '../../parts/marks/Tag.tsx'
import { ClearDialog } from './ClearDialog.tsx'
import { type Choice, shownOf } from './filter.ts'
import css from './Logs.module.css'
import { t } from './messages.ts'
import type { View } from './use-view.ts'

export interface Counts {
  readonly all: Schemas['LogHistogram'] | undefined
  readonly matching: Schemas['LogHistogram'] | undefined
}
interface Props {
  readonly choice: Choice & { readonly wrap: boolean }
  readonly change: (change: { readonly wrap: boolean }) => void
  readonly view: View
  readonly counts: Counts
}
const FORMATS: readonly LogFormat[] = ['ndjson', 'text', 'csv']

/** The title, whether the view is live and why not, and what can be done with the lines. */
export function Tools({ choice, change, view, counts }: Props) {
  const [isClearing, setClearing] = useState(false)
  const shown = choice.matches === 'only' ? counts.matching : counts.all
  const copy = async () => {
    await navigator.clipboard.writeText(location.href)
    showDone(t('copied'))
  }
  const download = (format: LogFormat) =>
    downloadLogs(shownOf(choice), format).then(
      () => showDone(t('saved')),
      (error) => showFailure(error),
    )
  return (
    <div className={css.head}>
      <PageHead title={t('title')} count={<State view={view} />}>
        <span className="row wide-only">
          <IconAct icon="wrap" label={t('wrap')} onClick={() => change({ wrap: !choice.wrap })} />
          <Act look="quiet" icon="link" onClick={() => copy().catch(showFailure)}>
            {t('copyLink')}
          </Act>
        </span>
        <Menu>
          <Menu.Target>
            <Button leftSection={<Icon name="download" size={14} />}>{t('download')}</Button>
          </Menu.Target>
          <Menu.Dropdown>
            {FORMATS.map((format) => (
              <Menu.Item key={format} onClick={() => void download(format)}>
                {t(format)}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
        <Act look="danger" changes onClick={() => setClearing(true)}>
          {t('clear')}
        </Act>
      </PageHead>
      {isClearing && <ClearDialog choice={choice} shown={shown?.total} onClose={() => setClearing(false)} />}
    </div>
  )
}

function State({ view: { pause, setPause, resume, isFixed } }: { readonly view: View }) {
  if (isFixed) return <Pill>{t('fixed')}</Pill>
  return (
    <span className="row">
      <Pill tone={pause ? 'idle' : 'ok'} glyph={pause ? 'pause' : 'run'}>
        {pause ? t(pause === 'user' ? 'pausedUser' : 'pausedScrolled') : t('live')}
      </Pill>
      <Act icon={pause ? 'play' : 'pause'} onClick={() => (pause ? resume() : setPause('user'))}>
        {pause ? t('resume') : t('pause')}
        <span className={css.key}>
          <Keys of="Space" />
        </span>
      </Act>
    </span>
  )
}
