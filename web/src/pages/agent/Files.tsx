import { useState } from 'react'
import type { AgentView } from '../../data/agent-files.ts'
import { useShort } from '../../data/live/home-folder.ts'
import { faultIn } from '../../format/fault.ts'
import { FileLines } from '../../parts/content/FileLines.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { Glyph } from '../../parts/marks/Glyph.tsx'
import css from './Agent.module.css'
import { t } from './messages.ts'

/** The files of the agent. Each can be read as it is. */
export function Files({ agent }: { readonly agent: AgentView }) {
  return (
    <section className="card" aria-label={t('files')}>
      <div className="card-head">
        <h2>{t('files')}</h2>
      </div>
      <ul>
        {agent.scopes.map((file) => (
          <FileRow key={`${file.scope} ${file.path}`} agentType={agent.agent_type} file={file} />
        ))}
      </ul>
    </section>
  )
}

interface RowProps {
  readonly agentType: string
  readonly file: AgentView['scopes'][number]
}

function FileRow({ agentType, file }: RowProps) {
  const { scope, path, exists, writable, parse_error, problem, server_count, note } = file
  const [open, setOpen] = useState<'line' | 'all'>()
  const short = useShort()
  const toggle = (what: 'line' | 'all') => () => setOpen(open === what ? undefined : what)
  return (
    <li className={css.file}>
      <span className="muted">{scope}</span>
      <span className="grow">
        <span className={`mono ${css.path}`}>{short(path)}</span>
        {parse_error && (
          <span className={`err ${css.fault}`}>
            <Glyph name="err" />
            {t('broken', {
              line: parse_error.line,
              column: parse_error.column,
              message: faultIn(parse_error),
            })}
          </span>
        )}
        {!parse_error && problem && <span className={`warn ${css.fault}`}>{problem}</span>}
        {note && <span className={`muted sm ${css.fault}`}>{note}</span>}
      </span>
      <span className="muted sm">
        {exists ? t('good', { count: server_count }) : t('missing')}
        {exists && !writable && ` · ${t('readOnlyFile')}`}
      </span>
      {parse_error && (
        <Act size="xs" onClick={toggle('line')}>
          {t(open === 'line' ? 'hideLine' : 'showLine')}
        </Act>
      )}
      {exists && (
        <Act size="xs" onClick={toggle('all')}>
          {t(open === 'all' ? 'hideFile' : 'showFile')}
        </Act>
      )}
      {open && (
        <div className={css.lines}>
          <FileLines
            agentType={agentType}
            scope={scope}
            {...(open === 'line' && parse_error && { around: parse_error.line })}
          />
        </div>
      )}
    </li>
  )
}
