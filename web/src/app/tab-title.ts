import { useEffect } from 'react'
import { useNotices } from '../data/notices.ts'

/** `(2) Servers · Toolroom`: the number of notices that were not seen, and the page. */
export function useTabTitle(): void {
  const { data: notices = [] } = useNotices()
  const unseen = notices.filter(({ seen_at }) => seen_at === null).length
  useEffect(() => {
    const update = () => {
      const page = document.documentElement.dataset.page
      const title = page ? `${page} · Toolroom` : 'Toolroom'
      document.title = unseen > 0 ? `(${unseen}) ${title}` : title
    }
    update()
    document.addEventListener('page-title', update)
    return () => document.removeEventListener('page-title', update)
  }, [unseen])
}
