import { type ComponentType, type LazyExoticComponent, lazy } from 'react'
import { Page as Home } from '../pages/home/Page.tsx'
import type { IconName } from '../parts/marks/icons.tsx'
import { t } from './messages.ts'

/** The eight pages, in the order of the rail. */
export interface PageEntry {
  readonly path: string
  readonly title: string
  readonly icon: IconName
  /** The second key after `g`. */
  readonly key: string
  readonly onPhone: boolean
}

export const PAGES: readonly PageEntry[] = [
  { path: '/', title: t('home'), icon: 'home', key: 'h', onPhone: true },
  { path: '/servers', title: t('servers'), icon: 'servers', key: 's', onPhone: true },
  { path: '/agents', title: t('agents'), icon: 'agents', key: 'a', onPhone: true },
  { path: '/playground', title: t('playground'), icon: 'play', key: 'p', onPhone: false },
  { path: '/traffic', title: t('traffic'), icon: 'traffic', key: 't', onPhone: true },
  { path: '/logs', title: t('logs'), icon: 'logs', key: 'l', onPhone: false },
  { path: '/packages', title: t('packages'), icon: 'packages', key: 'k', onPhone: false },
  { path: '/settings', title: t('settings'), icon: 'settings', key: ',', onPhone: false },
]

/** Which folder of `pages/` draws which path. `src/api/http/serve-dashboard.ts` serves the same paths. */
const FOLDERS: Readonly<Record<string, string>> = {
  '/welcome': 'welcome',
  '/servers': 'servers',
  '/servers/:id': 'server',
  '/agents': 'agents',
  '/agents/:agent_type': 'agent',
  '/playground': 'playground',
  '/traffic': 'traffic',
  '/logs': 'logs',
  '/packages': 'packages',
  '/settings': 'settings',
  '/parts': 'parts', // in development only
}

interface PageModule {
  readonly Page: ComponentType
}
interface PageRoute {
  readonly path: string
  readonly page: ComponentType | LazyExoticComponent<ComponentType>
}

/** A page is `Page` in `Page.tsx` of its folder. Home is part of the first load, the others are loaded when opened. */
const modules = {
  ...import.meta.glob<PageModule>(['../pages/*/Page.tsx', '!../pages/{home,parts}/Page.tsx']),
  ...(import.meta.env.MODE === 'production' ? {} : import.meta.glob<PageModule>('../pages/parts/Page.tsx')),
}

export const ROUTES: readonly PageRoute[] = [
  { path: '/', page: Home },
  ...Object.entries(FOLDERS).flatMap(([path, folder]) => routeTo(path, folder)),
]

function routeTo(path: string, folder: string): PageRoute[] {
  const load = modules[`../pages/${folder}/Page.tsx`]
  return load ? [{ path, page: lazy(async () => ({ default: (await load()).Page })) }] : []
}

/** Loads the code of the page at this address, before it is drawn. */
export function loadPage(at: string): void {
  const isAt = (path: string) => new RegExp(`^${path.replace(/:\w+/, '[^/]+')}/?$`).test(at)
  const folder = Object.entries(FOLDERS).find(([path]) => isAt(path))?.[1]
  modules[`../pages/${folder}/Page.tsx`]?.().catch(() => {}) // the page itself shows that it cannot be loaded
}
