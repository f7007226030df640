import type {
  ActionIcon,
  Button,
  Checkbox,
  CSSVariablesResolver,
  Drawer,
  Input,
  MantineColorsTuple,
  Menu,
  Modal,
  Notification,
  Popover,
  Radio,
  Select,
  Switch,
  Table,
  Tabs,
  Tooltip,
  VariantColorsResolver,
} from '@mantine/core'
import { createTheme } from '@mantine/core'
import { createElement } from 'react'
import { texts } from '../i18n/texts.ts'
import css from './controls.module.css'
import floating from './floating.module.css'

const t = texts('controls', { close: 'Close' })

/** Mantine with our tokens (`tokens.css`). The layout is monochrome; colour only ever means a state. */

const STATES = ['ink', 'ok', 'warn', 'err', 'info', 'idle'] as const

/** Ten times the same value: the scheme decides, through the token. */
const tuple = (token: string) => Array.from({ length: 10 }, () => token) as unknown as MantineColorsTuple

const tokenOf = (color: unknown): string =>
  STATES.find((state) => state === color) === undefined ? 'ink' : String(color)

const variantColorResolver: VariantColorsResolver = ({ variant, color }) => {
  const token = tokenOf(color)
  const fg = `var(--tr-${token})`
  const none = { background: 'transparent', border: '1px solid transparent' }
  switch (variant) {
    case 'filled':
      return {
        background: fg,
        hover: token === 'ink' ? 'var(--tr-ink-hover)' : fg,
        color: 'var(--tr-on-fill)',
        border: `1px solid ${fg}`,
      }
    case 'light':
      return {
        background: token === 'ink' ? 'var(--tr-idle-tint)' : `var(--tr-${token}-tint)`,
        hover: 'var(--tr-hover)',
        color: fg,
        border: '1px solid transparent',
      }
    case 'subtle':
    case 'transparent':
      return { ...none, hover: 'var(--tr-hover)', color: token === 'ink' ? 'var(--tr-muted)' : fg }
    default:
      return {
        background: 'var(--tr-surface)',
        hover: 'var(--tr-hover)',
        color: token === 'ink' ? 'var(--tr-text)' : fg,
        border: '1px solid var(--tr-line)',
      }
  }
}

const shared = {
  '--mantine-color-body': 'var(--tr-page)',
  '--mantine-color-text': 'var(--tr-text)',
  '--mantine-color-bright': 'var(--tr-text)',
  '--mantine-color-dimmed': 'var(--tr-muted)',
  '--mantine-color-placeholder': 'var(--tr-muted)',
  '--mantine-color-anchor': 'var(--tr-info)',
  '--mantine-color-error': 'var(--tr-err)',
  '--mantine-color-default': 'var(--tr-surface)',
  '--mantine-color-default-hover': 'var(--tr-hover)',
  '--mantine-color-default-color': 'var(--tr-text)',
  '--mantine-color-default-border': 'var(--tr-line)',
  '--mantine-color-disabled': 'var(--tr-sunken)',
  '--mantine-color-disabled-color': 'var(--tr-muted)',
  '--mantine-color-disabled-border': 'var(--tr-line)',
}

export const cssVariablesResolver: CSSVariablesResolver = () => ({
  variables: {},
  light: shared,
  dark: shared,
})

const CLOSE = { 'aria-label': t('close'), size: 28, iconSize: 16, className: css.icon }
/** Lengths of a switch, which Mantine derives from one another. */
const SWITCH = { '--switch-height': '18px', '--switch-width': '30px', '--switch-thumb-size': '12px' }
/** As the icon `down`. */
const CHEVRON = createElement(
  'svg',
  { viewBox: '0 0 16 16', className: css.chevron, 'aria-hidden': true },
  createElement('path', { d: 'm4.5 6.5 3.5 3.5 3.5-3.5' }),
)
const sized = { defaultProps: { size: 'sm' } } as const

/** Only data: a component is loaded with the page that uses it. */
type Look<T extends { readonly extend: (look: never) => unknown }> = Parameters<T['extend']>[0]

export const theme = createTheme({
  fontFamily: 'var(--tr-font)',
  fontFamilyMonospace: 'var(--tr-mono)',
  headings: { fontFamily: 'var(--tr-font)', fontWeight: '600' },
  fontSizes: { xs: '11.5px', sm: '12px', md: '13px', lg: '15px', xl: '20px' },
  lineHeights: { xs: '1.391', sm: '1.5', md: '1.538', lg: '1.467', xl: '1.4' },
  spacing: { xs: '4px', sm: '8px', md: '12px', lg: '16px', xl: '24px' },
  radius: { xs: '4px', sm: '6px', md: '8px', lg: '10px', xl: '14px' },
  defaultRadius: 'sm',
  shadows: { md: 'var(--tr-shadow)', xl: 'var(--tr-shadow)' },
  primaryColor: 'ink',
  colors: Object.fromEntries(STATES.map((state) => [state, tuple(`var(--tr-${state})`)])),
  variantColorResolver,
  focusRing: 'auto',
  respectReducedMotion: true,
  cursorType: 'pointer',
  components: {
    Button: {
      defaultProps: { size: 'sm', variant: 'default' },
      classNames: { root: css.button, label: css.buttonLabel },
    } satisfies Look<typeof Button>,
    ActionIcon: {
      defaultProps: { size: 28, variant: 'subtle' },
      classNames: { root: css.icon },
    } satisfies Look<typeof ActionIcon>,
    Input: {
      defaultProps: { size: 'sm', leftSectionWidth: 34 },
      classNames: { input: css.input, wrapper: css.inputWrapper },
    } satisfies Look<typeof Input>,
    InputWrapper: {
      classNames: { label: css.label, description: css.description, error: css.error },
    } satisfies Look<typeof Input.Wrapper>,
    Select: {
      defaultProps: {
        size: 'sm',
        checkIconPosition: 'right',
        allowDeselect: false,
        rightSection: CHEVRON,
        rightSectionWidth: 28,
      },
      classNames: { dropdown: floating.dropdown, option: floating.option },
    } satisfies Look<typeof Select>,
    Checkbox: {
      ...sized,
      vars: () => ({ root: { '--checkbox-size': '16px' } }),
      classNames: { input: css.check, icon: css.checkIcon, label: css.side, description: css.sideNote },
    } satisfies Look<typeof Checkbox>,
    Radio: {
      ...sized,
      vars: () => ({ root: { '--radio-size': '16px' } }),
      classNames: { radio: css.radio, icon: css.radioIcon, label: css.side, description: css.sideNote },
    } satisfies Look<typeof Radio>,
    Switch: {
      ...sized,
      vars: () => ({ root: SWITCH }),
      classNames: { track: css.track, thumb: css.thumb, label: css.side, description: css.sideNote },
    } satisfies Look<typeof Switch>,
    Table: { defaultProps: { verticalSpacing: 0, highlightOnHover: true } } satisfies Look<typeof Table>,
    Tabs: { classNames: { list: css.tabs, tab: css.tab } } satisfies Look<typeof Tabs>,
    Menu: {
      defaultProps: { shadow: 'md', position: 'bottom-end', transitionProps: { duration: 80 } },
      classNames: {
        dropdown: floating.dropdown,
        item: floating.menuItem,
        label: floating.menuLabel,
        divider: floating.divider,
      },
    } satisfies Look<typeof Menu>,
    Popover: {
      defaultProps: { shadow: 'md', transitionProps: { duration: 80 } },
      classNames: { dropdown: floating.dropdown },
    } satisfies Look<typeof Popover>,
    Modal: {
      defaultProps: {
        closeButtonProps: CLOSE,
        radius: 'xl',
        padding: 20,
        centered: false,
        yOffset: '10vh',
        transitionProps: { duration: 140 },
      },
      classNames: {
        content: floating.floating,
        header: floating.modalHeader,
        title: floating.modalTitle,
        overlay: floating.scrim,
      },
    } satisfies Look<typeof Modal>,
    Drawer: {
      defaultProps: {
        closeButtonProps: CLOSE,
        size: 392,
        position: 'right',
        padding: 16,
        transitionProps: { duration: 140 },
      },
      classNames: {
        content: floating.floating,
        header: floating.modalHeader,
        title: floating.modalTitle,
        overlay: floating.scrim,
      },
    } satisfies Look<typeof Drawer>,
    Tooltip: {
      defaultProps: {
        openDelay: 200,
        multiline: true,
        maw: 320,
        events: { hover: true, focus: true, touch: true },
      },
      classNames: { tooltip: floating.tooltip },
    } satisfies Look<typeof Tooltip>,
    Notification: {
      defaultProps: { closeButtonProps: CLOSE },
      classNames: {
        root: floating.toast,
        title: floating.toastTitle,
        description: floating.toastText,
        icon: floating.toastIcon,
      },
    } satisfies Look<typeof Notification>,
  },
})
