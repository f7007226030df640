import { Route, Switch, useLocation } from 'wouter'
import { Act } from '../parts/controls/Act.tsx'
import { EmptyState } from '../parts/states/EmptyState.tsx'
import { t } from './messages.ts'
import { ROUTES } from './pages.ts'

export function Routes() {
  return (
    <Switch>
      {ROUTES.map(({ path, page }) => (
        <Route key={path} path={path} component={page} />
      ))}
      <Route>
        <NotFound />
      </Route>
    </Switch>
  )
}

function NotFound() {
  const [, navigate] = useLocation()
  return (
    <div className="page">
      <EmptyState title={t('notFound')} text={t('notFoundText')}>
        <Act look="main" onClick={() => navigate('/')}>
          {t('toHome')}
        </Act>
      </EmptyState>
    </div>
  )
}
