import { useSettings } from '../../../data/settings.ts'
import { t } from '../messages.ts'

/** What is kept of this call, for Traffic and for a replay. */
export function Kept() {
  const { data } = useSettings()
  const mode = data?.items.find(({ key }) => key === 'call_payloads')?.value
  if (mode === undefined) return null
  return { off: t('keptOff'), disk: t('keptDisk') }[String(mode)] ?? t('keptMemory')
}
