import { existsSync, rmdirSync } from 'node:fs'
import { userInfo } from 'node:os'
import { basename, dirname } from 'node:path'
import { LASTING_EXITS } from '../../kernel/exit-codes.ts'
import { OURS, type Program, ServiceManager } from './service-manager.ts'

/** A unit of the user's own systemd, which needs no root. */
export class Systemd extends ServiceManager {
  readonly name = 'systemd'
  readonly asksToEnd = true
  readonly #unit = basename(this.file)
  readonly logCommand = `journalctl --user --unit ${this.#unit} --lines 20`

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
    this.refuseForeignFile()
    await this.#control('daemon-reload')
  }

  async problem(): Promise<string | null> {
    return this.#control('show', '--property=Version').then(
      () => null,
      ({ message }: Error) =>
        message.includes('ENOENT')
          ? 'This system has no systemd'
          : `There is no session of systemd for this user, as in a container or after su (${message})`,
    )
  }

  async install(program: Program, from = 'now'): Promise<void> {
    try {
      await this.writeFileFor(program, async () => {
        await this.#control('daemon-reload')
        await this.#control('enable', this.#unit)
        if (from === 'now') await this.#control('restart', this.#unit) // also starts it
      })
    } catch (error) {
      this.#removeEmptyFolders()
      throw error
    }
  }

  /** An earlier failure, or many starts, would prevent it. */
  async start(): Promise<void> {
    await this.#control('reset-failed', this.#unit).catch(() => {}) // it is not loaded
    await this.#control('start', this.#unit)
  }

  async uninstall(): Promise<void> {
    await this.#control('disable', '--now', this.#unit)
    this.removeFile()
    this.#removeEmptyFolders()
    await this.#control('daemon-reload')
    await this.#control('reset-failed').catch(() => {}) // only forgets that an earlier run failed
  }

  protected markOf(data: string): string {
    return `Environment=${quotedText(`TOOLROOM_HOME=${data}`)}\n`
  }

  protected async serviceState() {
    const shown = await this.#control('show', this.#unit, '--property=UnitFileState,ActiveState,MainPID')
    const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(shown)?.[1] ?? ''
    const pid = Number(value('MainPID'))
    return {
      enabled: value('UnitFileState') === 'enabled',
      running: value('ActiveState') === 'active',
      failed: value('ActiveState') === 'failed',
      pid: pid > 0 ? pid : null,
    }
  }

  override hint(): string | null {
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
    return this.run('systemctl', ['--user', ...args])
  }
}

/** systemd expands `$` in arguments, but not in the path of the program, which it refuses with a quote or a backslash. */
function commandLine(program: string, args: readonly string[]): string {
  const [first, ...rest] = /["'\\]/.test(program) ? ['/usr/bin/env', program, ...args] : [program, ...args]
  return [quotedText(first), ...rest.map((text) => quotedText(text.replaceAll('$', '$$$$')))].join(' ')
}

const quotedText = (text: string): string =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n').replaceAll('%', '%%')}"`
