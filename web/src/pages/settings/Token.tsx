import { TextInput } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useSession } from '../../data/session.ts'
import { useRotateToken } from '../../data/settings.ts'
import { Act, IconAct } from '../../parts/controls/Act.tsx'
import { ConfirmDialog } from '../../parts/controls/ConfirmDialog.tsx'
import { showDone, showFailure } from '../../parts/controls/toasts.tsx'
import { Entry } from './Entry.tsx'
import { t } from './messages.ts'
import css from './Settings.module.css'

const SHOWN_MS = 30_000

/** The token of this tab: shown on request, for 30 seconds. */
export function Token() {
  const { token = '' } = useSession()
  const [isShown, setShown] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const rotate = useRotateToken()
  useEffect(() => {
    if (!isShown) return
    const timer = setTimeout(() => setShown(false), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [isShown])
  const copy = () => navigator.clipboard.writeText(token).then(() => showDone(t('copied')), showFailure)
  // With the new token everything is read again, which draws this part anew: a promise outlives it.
  const replace = () =>
    void rotate.mutateAsync().then(
      () => showDone(t('rotated')),
      (error) => showFailure(error),
    )
  return (
    <Entry name={t('token')} text={t('tokenText')} keys="auth_token · AUTH_TOKEN">
      <div className={css.row}>
        <TextInput
          aria-label={t('token')}
          className={css.token}
          classNames={{ input: 'mono' }}
          readOnly
          value={isShown ? token : '•'.repeat(18)}
          rightSection={
            <IconAct
              size="xs"
              icon="eye"
              label={isShown ? t('hide') : t('show')}
              changes
              onClick={() => setShown(!isShown)}
            />
          }
        />
        <Act icon="copy" changes onClick={() => void copy()}>
          {t('copy')}
        </Act>
        <Act changes onClick={() => setAsking(true)}>
          {t('rotate')}
        </Act>
      </div>
      {isAsking && (
        <ConfirmDialog
          title={t('rotateTitle')}
          action={t('rotateAction')}
          busy={rotate.isPending}
          onConfirm={replace}
          onClose={() => setAsking(false)}
        >
          {t('rotateText')}
        </ConfirmDialog>
      )}
    </Entry>
  )
}
