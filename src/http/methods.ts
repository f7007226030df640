import type { FastifyInstance } from 'fastify'

/** Which methods a path knows, so that a wrong one is 405 with `Allow` and not 404. */
export class Methods {
  readonly #routes: { readonly segments: readonly string[]; readonly method: string }[] = []

  /** Every route that is registered from now on, in whatever plugin. */
  watch(app: FastifyInstance): void {
    app.addHook('onRoute', ({ url, method }) => {
      for (const one of [method].flat()) this.#routes.push({ segments: segmentsOf(url), method: one })
    })
  }

  allowed(url: string): string[] {
    const segments = segmentsOf(url.split('?')[0] ?? '')
    return [
      ...new Set(this.#routes.filter((route) => fits(route.segments, segments)).map(({ method }) => method)),
    ].sort()
  }

  /** Every route once, for tests that must reach all of them. */
  list(): { method: string; url: string }[] {
    return this.#routes.map(({ segments, method }) => ({ method, url: `/${segments.join('/')}` }))
  }
}

/** One slash at the end makes no difference, an empty segment does. */
const segmentsOf = (path: string): string[] =>
  path
    .replace(/(?<=.)\/$/, '')
    .split('/')
    .slice(1)

function fits(pattern: readonly string[], path: readonly string[]): boolean {
  return (
    pattern.length === path.length &&
    pattern.every((part, index) => part.startsWith(':') || part === path[index])
  )
}
