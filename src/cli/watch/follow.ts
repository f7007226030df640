import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Context, Value } from '../run/context.ts'
import { usage } from '../run/failure.ts'
import { findNamed } from '../run/find-named.ts'
import type { Line } from '../run/line.ts'
import { allServers } from '../servers/any-server.ts'

const POLL_MS = 500
const MOST = 1000
/** Of one look at what is new. At least as many are known, so that an older item is not taken for a new one. */
const PAGE = 100

interface Item {
  readonly id: number | string
}

interface Page<T> {
  readonly items: readonly T[]
  readonly next_cursor: string | null
}

interface Source<T extends Item> {
  /** A page of the list, the newest item first. */
  readonly read: (page: { readonly limit: number; readonly cursor?: string }) => Promise<Page<T>>
  readonly line: (item: T) => Line
  /** What `--plain` prints. */
  readonly row: (item: T) => readonly Value[]
  /** Shown if the list is empty. */
  readonly empty: string
}

/** Shows the newest items, the newest last. With `-f`, continues until the program is ended. */
export async function showNewest<T extends Item>(
  { given, emit }: Context,
  { read, line, row, empty }: Source<T>,
): Promise<Answer | undefined> {
  const limit = limitOf(given.flag('limit'))
  const isFollowed = given.is('follow')
  const { items } = await read({ limit: isFollowed ? Math.max(limit, PAGE) : limit })
  let shown = items.slice(0, limit).reverse()
  if (!isFollowed)
    return {
      json: { items: shown },
      lines: shown.length === 0 ? [empty] : shown.map(line),
      plain: shown.map(row),
    }
  // The program that reads the lines may end, as in `toolroom logs -f | head`.
  process.stdout.once('error', () => process.exit(0))
  process.once('SIGINT', () => process.exit(130))
  let known = new Set(items.map(({ id }) => id).reverse())
  for (;;) {
    for (const item of shown) emit(item, line(item), row(item))
    await sleep(POLL_MS)
    shown = await newSince(known, read)
    if (shown.length > 0) known = new Set([...known, ...shown.map(({ id }) => id)].slice(-2 * MOST))
  }
}

/** The items that came after the known ones, the oldest first. */
async function newSince<T extends Item>(
  known: ReadonlySet<Item['id']>,
  read: Source<T>['read'],
): Promise<T[]> {
  const fresh: T[] = []
  let cursor: string | null = null
  do {
    const page: Page<T> = await read({ limit: PAGE, ...(cursor !== null && { cursor }) })
    const unknown = page.items.filter(({ id }) => !known.has(id))
    fresh.push(...unknown)
    cursor = unknown.length < page.items.length ? null : page.next_cursor
  } while (cursor !== null && fresh.length < MOST)
  return fresh.reverse()
}

function limitOf(given = '100'): number {
  const limit = Number(given)
  if (/^\d+$/.test(given) && limit >= 1 && limit <= MOST) return limit
  throw usage(`--limit must be a whole number from 1 to ${MOST}, not '${given}'`, null)
}

/** The filters that the lists of this group share. */
export async function filtersOf({ api, given }: Context): Promise<{ server_id?: string[]; since?: string }> {
  const names = given.words('SERVER')
  const since = given.flag('since')
  const servers = names.length === 0 ? [] : await allServers(api)
  return {
    ...(names.length > 0 && { server_id: names.map((name) => findNamed(servers, name, 'server').id) }),
    ...(since !== undefined && { since }),
  }
}
