import { type ReactNode, Suspense, useCallback, useState } from 'react'
import { useLocation } from 'wouter'
import { useLive } from '../data/live/live.ts'
import { Skeleton } from '../parts/states/Skeleton.tsx'
import { Announcer } from './Announcer.tsx'
import { BottomBar } from './bars/BottomBar.tsx'
import { GoneBanner } from './bars/GoneBanner.tsx'
import { Rail } from './bars/Rail.tsx'
import { ReadOnlyBar } from './bars/ReadOnlyBar.tsx'
import { TopBar } from './bars/TopBar.tsx'
import { KeysDialog } from './dialogs/KeysDialog.tsx'
import { LazyPalette } from './dialogs/LazyPalette.tsx'
import { LeaveDialog } from './dialogs/LeaveDialog.tsx'
import { OutgoingDialog } from './dialogs/OutgoingDialog.tsx'
import { TokenDialog } from './dialogs/TokenDialog.tsx'
import { ValueDialog } from './dialogs/ValueDialog.tsx'
import { FullText } from './FullText.tsx'
import css from './Layout.module.css'
import { LayoutKeys } from './LayoutKeys.tsx'
import { t } from './messages.ts'
import { PageBoundary } from './PageBoundary.tsx'
import { Routes } from './Routes.tsx'
import { useTabTitle } from './tab-title.ts'

/** Pages that stand alone, without rail and bars. */
const ALONE = ['/welcome']

/** What surrounds every page: rail, top bar, banners, dialogs, keys. */
export function Layout() {
  const [path] = useLocation()
  const [open, setOpen] = useState<'palette' | 'keys'>()
  const { connection } = useLive()
  useTabTitle()
  const showKeys = useCallback(() => setOpen('keys'), [])
  const page = (
    <PageBoundary key={path}>
      <Suspense fallback={<Waiting />}>
        <Routes />
      </Suspense>
    </PageBoundary>
  )
  const dialogs = (
    <>
      <LayoutKeys onPalette={() => setOpen('palette')} onHelp={showKeys} />
      <LazyPalette
        isOpen={open === 'palette'}
        onClose={() => setOpen((now) => (now === 'palette' ? undefined : now))}
        onHelp={showKeys}
      />
      <KeysDialog isOpen={open === 'keys'} onClose={() => setOpen(undefined)} />
      <TokenDialog />
      <ValueDialog />
      <OutgoingDialog />
      <LeaveDialog />
      <Announcer />
      <FullText />
    </>
  )
  if (ALONE.includes(path)) return withDialogs(page, dialogs)
  return withDialogs(
    <>
      <a className={css.skip} href="#content">
        {t('skip')}
      </a>
      <div className={css.app}>
        <Rail />
        <div className={css.side}>
          <TopBar onPalette={() => setOpen('palette')} onHelp={showKeys} />
          <ReadOnlyBar />
          <GoneBanner />
          <main
            id="content"
            tabIndex={-1}
            className={css.main}
            data-stale={connection.state === 'gone' || undefined}
          >
            {page}
          </main>
          <BottomBar />
        </div>
      </div>
    </>,
    dialogs,
  )
}

const Waiting = () => (
  <div className="page">
    <Skeleton rows={6} />
  </div>
)

const withDialogs = (page: ReactNode, dialogs: ReactNode) => (
  <>
    {page}
    {dialogs}
  </>
)
