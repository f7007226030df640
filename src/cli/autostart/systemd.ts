import { existsSync, rmdirSync } from 'node:fs'
import { userInfo } from 'node:os'
import { basename, dirname } from 'node:path'
import { LASTING_EXITS } from '../../kernel/exit.ts'
import {
  OURS,
  type Program,
  type RunTool,
  runTool,
  ServiceFile,
  type ServiceManager,
  type ServiceState,
} from './service-manager.ts'

/** A unit of the user's own systemd, which needs no root. */
export class Systemd implements ServiceManager {
  readonly name = 'systemd'
  readonly asksToEnd = true
  readonly logCommand: string
  readonly #file: ServiceFile
  readonly #unit: string
  readonly #run: RunTool

  constructor(file: string, run = runTool) {
    this.#file = new ServiceFile(file)
    this.#unit = basename(file)
    this.#run = run
    this.logCommand = `journalctl --user --unit ${this.#unit} --lines 20`
  }

  get file(): string {
    return this.#file.path
  }

  get commands(): readonly string[] {
    return [['daemon-reload'], ['enable', this.#unit], ['restart', this.#unit]].map(
      (args) => `systemctl --user ${args.join(' ')}`,
    )
  }

  /** A start that was refused for a reason that lasts is not repeated. Child processes end with the service. */
  describe({ command, mainFile, env }: Program): string {
    return `${[
      `# ${OURS}`,
      '[Unit]',
      'Description=Toolroom, the tool servers of your AI agents',
      'StartLimitIntervalSec=300',
      'StartLimitBurst=10',
      '',
      '[Service]',
      'Type=exec',
      `ExecStart=${commandLine(command, [mainFile, 'up'])}`,
      ...Object.entries(env).map(([name, value]) => `Environment=${quotedText(`${name}=${value}`)}`),
      'Restart=on-failure',
      'RestartSec=2',
      `RestartPreventExitStatus=${LASTING_EXITS.join(' ')}`,
      'KillMode=mixed',
      'TimeoutStopSec=15',
      '',
      '[Install]',
      'WantedBy=default.target',
    ].join('\n')}\n`
  }

  async check(): Promise<void> {
    this.#file.refuseForeign()
    await this.#control('daemon-reload')
  }

  async install(program: Program): Promise<void> {
    try {
      await this.#file.writeFor(this.describe(program), async () => {
        await this.#control('daemon-reload')
        await this.#control('enable', this.#unit)
        await this.#control('restart', this.#unit) // also starts it
      })
    } catch (error) {
      this.#removeEmptyFolders()
      throw error
    }
  }

  async uninstall(): Promise<void> {
    await this.#control('disable', '--now', this.#unit)
    this.#file.remove()
    this.#removeEmptyFolders()
    await this.#control('daemon-reload')
    await this.#control('reset-failed').catch(() => {}) // only forgets that an earlier run failed
  }

  async state(): Promise<ServiceState> {
    const installed = this.#file.isOurs()
    const { file } = this
    if (!installed) return { file, installed, enabled: false, running: false, failed: false, pid: null }
    const shown = await this.#control('show', this.#unit, '--property=UnitFileState,ActiveState,MainPID')
    const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(shown)?.[1] ?? ''
    const pid = Number(value('MainPID'))
    return {
      file,
      installed,
      enabled: value('UnitFileState') === 'enabled',
      running: value('ActiveState') === 'active',
      failed: value('ActiveState') === 'failed',
      pid: pid > 0 ? pid : null,
    }
  }

  hint(): string | null {
    if (existsSync(`/var/lib/systemd/linger/${userInfo().username}`)) return null
    return 'It runs while you are logged in. To keep it running after you log out: loginctl enable-linger'
  }

  #removeEmptyFolders(): void {
    const folder = dirname(this.file)
    for (const path of [`${folder}/default.target.wants`, folder, dirname(folder)]) {
      try {
        rmdirSync(path)
      } catch {
        // there is none, or it has other files
      }
    }
  }

  #control(...args: readonly string[]): Promise<string> {
    return this.#run('systemctl', ['--user', ...args])
  }
}

/** systemd expands `$` in arguments, but not in the path of the program, which it refuses with a quote or a backslash. */
function commandLine(program: string, args: readonly string[]): string {
  const [first, ...rest] = /["'\\]/.test(program) ? ['/usr/bin/env', program, ...args] : [program, ...args]
  return [quotedText(first), ...rest.map((text) => quotedText(text.replaceAll('$', '$$$$')))].join(' ')
}

const quotedText = (text: string): string =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n').replaceAll('%', '%%')}"`
