import { Component, type ReactNode } from 'react'
import { Act } from '../parts/controls/Act.tsx'
import { CauseStrip } from '../parts/states/CauseStrip.tsx'
import { t } from './messages.ts'

interface State {
  readonly error: Error | undefined
}

/** A page that fails does not take the layout with it. */
export class PageBoundary extends Component<{ readonly children: ReactNode }, State> {
  override readonly state: State = { error: undefined }

  static getDerivedStateFromError(error: Error): State {
    return { error }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (!error) return this.props.children
    return (
      <div className="page" role="alert">
        <CauseStrip tone="err" sentence={t('crashed')} evidence={error.message}>
          <Act size="xs" onClick={() => location.reload()}>
            {t('reload')}
          </Act>
        </CauseStrip>
      </div>
    )
  }
}
