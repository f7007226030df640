import { useState } from 'react'
import { useLocation } from 'wouter'
import { addSample } from '../../data/first-run/sample.ts'
import { Act } from '../controls/Act.tsx'
import { showFailure } from '../controls/toasts.tsx'
import { t } from './messages.ts'

/** Adds the server that ships with Toolroom, and opens the Playground with a call filled in. */
export function AddSample({ look = 'plain' }: { readonly look?: 'main' | 'plain' }) {
  const [, navigate] = useLocation()
  const [busy, setBusy] = useState(false)

  async function add(): Promise<void> {
    setBusy(true)
    try {
      navigate(await addSample())
    } catch (failure) {
      showFailure(failure)
      setBusy(false)
    }
  }

  return (
    <Act look={look} changes busy={busy} onClick={() => void add()}>
      {t('addSample')}
    </Act>
  )
}
