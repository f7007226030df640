import type { FastifyInstance } from 'fastify'

/** The methods that each path supports, so that a wrong one is answered with 405 and `Allow` instead of 404. */
export class Methods {
  readonly #routes: { readonly segments: readonly string[]; readonly method: string }[] = []

  /** Records every route that is registered from now on, in all plugins. */
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

  /** All routes, for tests that must cover each of them. */
  list(): { method: string; url: string }[] {
    return this.#routes.map(({ segments, method }) => ({ method, url: `/${segments.join('/')}` }))
  }
}

/** Ignores one slash at the end, but no empty segment. */
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
