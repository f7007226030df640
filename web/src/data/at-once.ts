import { queryClient } from './query-client.ts'

interface Change<T> {
  /** Changes with the same name are sent in their order, because each replaces a whole list. */
  readonly of: string
  readonly queryKey: readonly string[]
  readonly update: (data: T) => T
  readonly send: () => Promise<unknown>
  /** What is read again when the last change is answered; so a refused one returns. */
  readonly outdated: readonly string[]
}

/** The last change of each name that is not answered yet. */
const unanswered = new Map<string, Promise<unknown>>()

/** How many changes of each query are not answered yet. */
const changing = new Map<string, number>()

/** False while a change is not answered: a read would show the state before it. The query is read again afterwards. */
export const mayBeRead = ({ queryKey }: { readonly queryKey: readonly unknown[] }): boolean =>
  !changing.has(JSON.stringify(queryKey))

/** Shows a change before the service has answered. */
export async function atOnce<T>({ of, queryKey, update, send, outdated }: Change<T>): Promise<void> {
  void queryClient.cancelQueries({ queryKey })
  queryClient.setQueryData(queryKey, (data: T | undefined) => data && update(data))
  count(queryKey, 1)
  const before = unanswered.get(of) ?? Promise.resolve()
  const own = before.then(send, send)
  unanswered.set(of, own)
  try {
    await own
  } finally {
    count(queryKey, -1)
    if (unanswered.get(of) === own) {
      unanswered.delete(of)
      await Promise.all(
        outdated.map((root) => queryClient.invalidateQueries({ queryKey: [root], predicate: mayBeRead })),
      )
    }
  }
}

function count(queryKey: readonly string[], step: 1 | -1): void {
  const key = JSON.stringify(queryKey)
  const left = (changing.get(key) ?? 0) + step
  if (left === 0) changing.delete(key)
  else changing.set(key, left)
}
