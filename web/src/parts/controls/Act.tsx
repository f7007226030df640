import { ActionIcon, Button, Tooltip } from '@mantine/core'
import type { MouseEvent, ReactNode } from 'react'
import { program } from '../../data/browser/program.ts'
import { useSession } from '../../data/session.ts'
import { texts } from '../../i18n/texts.ts'
import { Icon, type IconName } from '../marks/icons.tsx'

const t = texts('act', { readOnly: 'Read-only. Run “{program} open” in a terminal to make changes.' })

interface Props {
  readonly children: ReactNode
  readonly onClick?: ((event: MouseEvent) => void) | undefined
  /** `main`: the one main button of a view. `quiet`: without a frame. `danger`: removes something. */
  readonly look?: 'plain' | 'main' | 'quiet' | 'danger'
  readonly size?: 'xs' | 'sm' | 'md'
  readonly icon?: IconName
  /** Behind the text: where the button leads. */
  readonly iconAfter?: IconName
  /** It changes something, so it needs the token. */
  readonly changes?: boolean
  /** Why it cannot be used now. The button stays reachable and says so. */
  readonly blocked?: string | undefined
  readonly busy?: boolean
  readonly autoFocus?: boolean
  readonly type?: 'button' | 'submit'
}

const LOOKS = {
  plain: { variant: 'default', color: 'ink' },
  main: { variant: 'filled', color: 'ink' },
  quiet: { variant: 'subtle', color: 'ink' },
  danger: { variant: 'subtle', color: 'err' },
} as const

/** A button. One that changes something is disabled with a reason while the dashboard is read-only. */
export function Act({ children, onClick, look = 'plain', size = 'sm', icon, busy = false, ...rest }: Props) {
  const reason = useReason(rest)
  const button = (
    <Button
      {...LOOKS[look]}
      size={size}
      type={rest.type ?? 'button'}
      leftSection={icon && <Icon name={icon} size={14} />}
      rightSection={rest.iconAfter && <Icon name={rest.iconAfter} size={14} />}
      loading={busy}
      data-autofocus={rest.autoFocus || undefined}
      aria-disabled={reason !== undefined || undefined}
      data-disabled={reason !== undefined || undefined}
      onClick={(event) => (reason === undefined ? onClick?.(event) : event.preventDefault())}
    >
      {children}
    </Button>
  )
  return reason === undefined ? button : <Tooltip label={reason}>{button}</Tooltip>
}

interface IconProps extends Omit<Props, 'children' | 'look' | 'icon' | 'iconAfter' | 'type'> {
  readonly icon: IconName
  readonly label: string
}

/** The same as an icon, with its name as the tooltip. */
export function IconAct({ icon, label, onClick, size = 'sm', ...rest }: IconProps) {
  const reason = useReason(rest)
  return (
    <Tooltip label={reason ?? label}>
      <ActionIcon
        size={size === 'xs' ? 24 : 28}
        aria-label={label}
        aria-disabled={reason !== undefined || undefined}
        data-disabled={reason !== undefined || undefined}
        onClick={(event) => (reason === undefined ? onClick?.(event) : event.preventDefault())}
      >
        <Icon name={icon} size={size === 'xs' ? 14 : 16} />
      </ActionIcon>
    </Tooltip>
  )
}

function useReason({ changes = false, blocked }: Pick<Props, 'changes' | 'blocked'>): string | undefined {
  const { mayChange } = useSession()
  return changes && !mayChange ? t('readOnly', { program }) : blocked
}
