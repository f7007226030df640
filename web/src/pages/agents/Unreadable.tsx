import { Modal, Tooltip, UnstyledButton } from '@mantine/core'
import { useState } from 'react'
import { Link } from 'wouter'
import { FileLines } from '../../parts/content/FileLines.tsx'
import { Glyph } from '../../parts/marks/Glyph.tsx'
import css from './ColumnHead.module.css'
import type { Column } from './grid-model.ts'
import { t } from './messages.ts'

interface Props {
  readonly column: Column
  readonly target: { readonly tabIndex: number; readonly 'data-at': string; readonly onFocus: () => void }
}

/** One word in the head of the column; the reason in its tooltip, and with the line in a dialog. */
export function Unreadable({ column: { agent, scope, unreadable }, target }: Props) {
  const [isOpen, setOpen] = useState(false)
  const line = scope?.parse_error?.line
  return (
    <>
      <Tooltip label={unreadable} multiline maw={320}>
        <UnstyledButton
          className={`xs err ${css.bad}`}
          onClick={() => setOpen(true)}
          onKeyDown={(event) => event.key.length === 1 && event.stopPropagation()}
          {...target}
        >
          <span className={css.word}>
            <Glyph name="err" />
            {line !== undefined ? t('unreadableLine', { line }) : t(scope ? 'unreadableWord' : 'noFileWord')}
          </span>
          {line !== undefined && <span className={css.show}>{t('showLine')}</span>}
        </UnstyledButton>
      </Tooltip>
      {isOpen && (
        <Modal
          opened
          onClose={() => setOpen(false)}
          title={t('unreadableTitle', { agent: agent.name })}
          size={620}
          onKeyDown={(event) => event.stopPropagation()} // the grid has keys of its own
        >
          <div className={css.dialog}>
            <p>{unreadable}</p>
            {scope && <p className="mono muted">{scope.path}</p>}
            {scope && line !== undefined && (
              <FileLines agentType={agent.agent_type} scope={scope.scope} around={line} />
            )}
            <p className="muted sm">{t('unreadableTodo')}</p>
            <Link href={`/agents/${agent.agent_type}`}>{t('openAgent')}</Link>
          </div>
        </Modal>
      )}
    </>
  )
}
