import { VisuallyHidden } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import type { Notice } from '../data/api.ts'
import { useShowOsNotices } from '../data/browser/os-notices.ts'
import { useNotices } from '../data/notices.ts'

const NONE: readonly Notice[] = []

/** Reads new notices to screen readers: politely, a crash at once. And shows them outside of the browser, if wanted. */
export function Announcer() {
  const { data: open = NONE } = useNotices()
  const fresh = useFresh(open)
  useShowOsNotices(fresh, open)
  const isCrash = ({ kind }: Notice) => kind === 'server_crashed'
  const textOf = (notices: readonly Notice[]) => notices.map(({ text }) => text).join('. ')
  return (
    <VisuallyHidden>
      <div aria-live="polite">{textOf(fresh.filter((notice) => !isCrash(notice)))}</div>
      <div aria-live="assertive">{textOf(fresh.filter(isCrash))}</div>
    </VisuallyHidden>
  )
}

/** The notices that came, or counted up, since the page was opened: only those of the last change. */
function useFresh(open: readonly Notice[]): readonly Notice[] {
  const known = useRef<ReadonlyMap<number, number>>(undefined)
  const [fresh, setFresh] = useState<readonly Notice[]>(NONE)
  useEffect(() => {
    if (open === NONE) return
    const before = known.current
    known.current = new Map(open.map(({ id, count }) => [id, count]))
    const isNew = ({ id, count }: Notice) => count > (before?.get(id) ?? 0)
    const found = before ? open.filter(isNew) : NONE
    if (found.length > 0) setFresh(found)
  }, [open])
  return fresh
}
