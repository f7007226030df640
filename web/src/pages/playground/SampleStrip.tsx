import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { removeSample, useSample } from '../../data/first-run/sample.ts'
import { useShort } from '../../data/live/home-folder.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { showDone, showFailure } from '../../parts/controls/toasts.tsx'
import { CauseStrip } from '../../parts/states/CauseStrip.tsx'
import { t } from './messages.ts'

/** Of the server that ships with Toolroom: what else shows its calls, and how to get rid of it. */
export function SampleStrip({ server }: { readonly server: string }) {
  const { data } = useSample()
  const short = useShort()
  const [, navigate] = useLocation()
  const [busy, setBusy] = useState(false)
  if (data?.server_id !== server) return null

  async function remove(): Promise<void> {
    setBusy(true)
    try {
      await removeSample()
      showDone(t('sampleRemoved'))
      navigate('/')
    } catch (failure) {
      showFailure(failure)
      setBusy(false)
    }
  }

  const link = (href: string, text: string) => (
    <Link key={href} href={href}>
      {text}
    </Link>
  )
  return (
    <CauseStrip
      tone="info"
      sentence={t('sample')}
      advice={t.rich('sampleNext', {
        traffic: link('/traffic', t('sampleTraffic')),
        logs: link(`/logs?servers=${server}`, t('sampleLogs')),
        agents: link('/agents', t('sampleAgents')),
      })}
    >
      <span className="muted sm">{t('sampleFolder', { folder: short(data.folder) })}</span>
      <Act size="xs" look="danger" changes busy={busy} onClick={() => void remove()}>
        {t('sampleRemove')}
      </Act>
    </CauseStrip>
  )
}
