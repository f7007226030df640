import { Menu } from '@mantine/core'
import { Link, useLocation } from 'wouter'
import { Icon } from '../../parts/marks/icons.tsx'
import { t } from '../messages.ts'
import { PAGES } from '../pages.ts'
import css from './BottomBar.module.css'
import { isAt } from './Rail.tsx'

/** On a phone: five entries at the bottom instead of the rail. */
export function BottomBar() {
  const [path, navigate] = useLocation()
  const others = PAGES.filter(({ onPhone }) => !onPhone)
  return (
    <nav className={css.bar} aria-label={t('pages')}>
      {PAGES.filter(({ onPhone }) => onPhone).map((page) => (
        <Link key={page.path} href={page.path} aria-current={isAt(page.path, path) ? 'page' : undefined}>
          <Icon name={page.icon} />
          {page.title}
        </Link>
      ))}
      <Menu position="top-end">
        <Menu.Target>
          <button type="button" aria-current={others.some((page) => isAt(page.path, path)) || undefined}>
            <Icon name="more" />
            {t('more')}
          </button>
        </Menu.Target>
        <Menu.Dropdown>
          {others.map((page) => (
            <Menu.Item
              key={page.path}
              leftSection={<Icon name={page.icon} />}
              onClick={() => navigate(page.path)}
            >
              {page.title}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
    </nav>
  )
}
