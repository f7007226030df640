import { ApiError, needsPermission } from '../../data/api.ts'
import { texts } from '../../i18n/texts.ts'
import { Act } from '../controls/Act.tsx'
import { openTokenDialog } from '../controls/token-dialog.ts'
import { CauseStrip } from './CauseStrip.tsx'

const t = texts('error', {
  needed: 'This needs permission.',
  how: 'Run "toolroom open" in a terminal, or paste your token.',
  paste: 'Paste token',
  unreachable: 'Toolroom did not answer.',
  again: 'Try again',
  failed: 'This could not be read.',
})

interface Props {
  readonly error: unknown
  readonly onRetry?: () => void
}

/** What happened, the evidence, what to do, and the code with its page. */
export function ErrorState({ error, onRetry }: Props) {
  if (needsPermission(error)) return <NeedsPermission />
  const known = error instanceof ApiError ? error : undefined
  return (
    <div role="alert">
      <CauseStrip
        tone="err"
        sentence={known?.message ?? (error instanceof TypeError ? t('unreachable') : t('failed'))}
        evidence={known || error instanceof TypeError ? undefined : messageOf(error)}
        advice={known?.hint}
      >
        {known?.code && (
          <a className="mono" href={`/docs/errors/${known.code}`}>
            {known.code}
          </a>
        )}
        {onRetry && (
          <Act size="xs" onClick={onRetry}>
            {t('again')}
          </Act>
        )}
      </CauseStrip>
    </div>
  )
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** In the place of data that needs the token. */
export function NeedsPermission() {
  return (
    <CauseStrip tone="info" sentence={t('needed')} evidence={undefined}>
      <span className="muted sm">{t('how')}</span>
      <Act size="xs" onClick={openTokenDialog}>
        {t('paste')}
      </Act>
    </CauseStrip>
  )
}
