import { lazy, Suspense, useState } from 'react'

interface Props {
  readonly isOpen: boolean
  readonly onClose: () => void
}

const Palette = lazy(async () => ({ default: (await import('./Palette.tsx')).Palette }))

/** Loaded when it is opened for the first time. */
export function LazyPalette({ isOpen, onClose }: Props) {
  const [wasOpen, setWasOpen] = useState(false)
  if (isOpen && !wasOpen) setWasOpen(true)
  return wasOpen ? (
    <Suspense>
      <Palette isOpen={isOpen} onClose={onClose} />
    </Suspense>
  ) : null
}
