import { ApiError, needsPermission, Unreachable } from '../../data/api.ts'
import { program } from '../../data/browser/program.ts'
import { useSession } from '../../data/session.ts'
import { texts } from '../../i18n/texts.ts'
import { Act } from '../controls/Act.tsx'
import { openTokenDialog } from '../controls/token-dialog.ts'
import { CauseStrip } from './CauseStrip.tsx'

const t = texts('error', {
  needed: 'This needs permission.',
  expired: 'This link has expired.',
  spent: 'This link was used already, or Toolroom was started again since.',
  how: 'Run {command} in a terminal, or paste your token.',
  howAgain: 'Run {command} again in a terminal, or paste your token.',
  paste: 'Paste token',
  again: 'Try again',
  failed: 'This could not be loaded.',
})

interface Props {
  readonly error: unknown
  readonly onRetry?: () => void
}

/** What happened, the evidence, what to do, and the code with its page. */
export function ErrorState({ error, onRetry }: Props) {
  if (needsPermission(error)) return <NeedsPermission />
  const known = error instanceof ApiError || error instanceof Unreachable ? error : undefined
  const code = error instanceof ApiError ? error.code : undefined
  return (
    <div role="alert">
      <CauseStrip
        tone="err"
        sentence={known?.message ?? t('failed')}
        evidence={known ? undefined : messageOf(error)}
        advice={known?.hint}
      >
        {code && (
          <a className="mono" href={`/docs/errors/${code}`}>
            {code}
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

/** In the place of data that needs the token. `isAlone`: no bar of the frame says why the link was not accepted. */
export function NeedsPermission({ isAlone = false }: { readonly isAlone?: boolean }) {
  const { refused: reason } = useSession()
  const refused = isAlone ? reason : undefined
  const command = (
    <code key="command" className="mono">
      {program} open
    </code>
  )
  return (
    <CauseStrip tone="info" sentence={t(refused ?? 'needed')} evidence={undefined}>
      <span className="muted sm">{t.rich(refused ? 'howAgain' : 'how', { command })}</span>
      <Act size="xs" onClick={openTokenDialog}>
        {t('paste')}
      </Act>
    </CauseStrip>
  )
}
