import { ConfirmDialog } from '../../parts/controls/ConfirmDialog.tsx'
import { stay, useAsked } from '../../url/leaving.ts'
import { t } from '../messages.ts'

/** Asked before unsaved work is lost. */
export function LeaveDialog() {
  const leave = useAsked()
  if (!leave) return null
  return (
    <ConfirmDialog title={t('leaveTitle')} action={t('leaveNow')} onConfirm={leave} onClose={stay}>
      {t('leaveText')}
    </ConfirmDialog>
  )
}
