import { lazy, Suspense, useState } from 'react'

interface Props {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onHelp: () => void
}

const Palette = lazy(async () => ({ default: (await import('./Palette.tsx')).Palette }))

/** Loaded when it is opened for the first time. */
export function LazyPalette({ isOpen, ...on }: Props) {
  const [wasOpen, setWasOpen] = useState(false)
  if (isOpen && !wasOpen) setWasOpen(true)
  return wasOpen ? (
    <Suspense>
      <Palette isOpen={isOpen} {...on} />
    </Suspense>
  ) : null
}
