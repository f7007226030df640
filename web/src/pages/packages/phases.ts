import { t } from './messages.ts'

const PHASES: Readonly<Record<string, readonly [name: string, text: string]>> = {
  resolving: [t('phaseResolving'), t('phaseResolvingText')],
  downloading: [t('phaseInstalling'), t('phaseDownloadingText')],
  extracting: [t('phaseExtracting'), t('phaseExtractingText')],
  installing: [t('phaseInstalling'), t('phaseInstallingText')],
  checking: [t('phaseChecking'), t('phaseCheckingText')],
  finishing: [t('phaseFinishing'), t('phaseFinishingText')],
  'creating a server': [t('phaseServer'), t('phaseServerText')],
  trying: [t('phaseTrying'), t('phaseTryingText')],
  waiting: [t('phaseWaiting'), t('phaseWaitingText')],
  switching: [t('phaseSwitching'), t('phaseSwitchingText')],
}

export const phaseName = (phase: string): string => PHASES[phase]?.[0] ?? phase
/** What the phase does. */
export const phaseText = (phase: string, kind: string): string =>
  kind === 'image_pull' && phase === 'resolving' ? t('phaseFindText') : (PHASES[phase]?.[1] ?? '')
