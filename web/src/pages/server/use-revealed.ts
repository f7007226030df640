import { useEffect, useState } from 'react'
import { showFailure } from '../../parts/controls/toasts.tsx'

const SHOWN_MS = 30_000

/** A secret that is read on request, and forgotten after 30 s. */
export function useRevealed(read: () => Promise<string>) {
  const [value, setValue] = useState<string>()
  useEffect(() => {
    if (value === undefined) return
    const timer = setTimeout(() => setValue(undefined), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [value])
  return {
    value,
    show: () => void read().then(setValue, (error) => showFailure(error)),
    hide: () => setValue(undefined),
  }
}
