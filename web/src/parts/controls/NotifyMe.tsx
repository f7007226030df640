import { switchOsNotices, useOsNotices } from '../../data/browser/os-notices.ts'
import { texts } from '../../i18n/texts.ts'
import { Act } from './Act.tsx'
import { showDone, showFailure } from './toasts.tsx'

const t = texts('notify-me', {
  on: 'Notify me',
  off: 'Stop notifying me',
  done: 'This browser now notifies you when a server crashes or its tools change.',
  denied:
    'The browser does not allow notifications from this address. Its settings for this site can change that.',
  unsupported: 'This browser does not support notifications.',
})

/** The button that asks the browser for notifications; it never asks by itself. */
export function NotifyMe() {
  const state = useOsNotices()
  if (state === 'denied' || state === 'unsupported') return <span className="muted sm">{t(state)}</span>
  const change = () =>
    switchOsNotices(state === 'off').then(() => {
      if (state === 'off' && Notification.permission === 'granted') showDone(t('done'))
    }, showFailure)
  return (
    <Act size="xs" icon="bell" onClick={() => void change()}>
      {t(state === 'off' ? 'on' : 'off')}
    </Act>
  )
}
