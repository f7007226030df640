import { useState } from 'react'

/** What is removed can be undone for ten seconds; until then it is only hidden. */
export function useLeaving() {
  const [ids, setIds] = useState<readonly string[]>([])
  return {
    isLeaving: (id: string): boolean => ids.includes(id),
    leave: (id: string) => setIds((now) => [...now, id]),
    stay: (id: string) => setIds((now) => now.filter((each) => each !== id)),
  }
}
