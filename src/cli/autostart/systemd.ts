import { execFile } from 'node:child_process'
import { existsSync, rmdirSync, rmSync } from 'node:fs'
import { userInfo } from 'node:os'
import { basename, dirname } from 'node:path'
import { type Platform, unitFile } from '../../config/paths.ts'
import { EXIT } from '../../kernel/exit.ts'
import { makeFolder, writeDurably } from '../../kernel/files/durable-file.ts'
import { readForeign } from '../../kernel/files/foreign-file.ts'
import type { Program, ServiceManager, ServiceState } from './service-manager.ts'

const OURS = '# Written by `toolroom service install`. `toolroom service uninstall` removes it.'
const TIMEOUT_MS = 60_000
const MAX_BYTES = 65_536

/** A unit of the user's own systemd, which needs no root. */
export class Systemd implements ServiceManager {
  readonly name = 'systemd'
  readonly file: string
  readonly logCommand: string
  readonly #unit: string

  constructor(platform: Pick<Platform, 'home' | 'env'>) {
    this.file = unitFile(platform)
    this.#unit = basename(this.file)
    this.logCommand = `journalctl --user --unit ${this.#unit} --lines 20`
  }

  get commands(): readonly string[] {
    return [['daemon-reload'], ['enable', this.#unit], ['restart', this.#unit]].map(
      (args) => `systemctl --user ${args.join(' ')}`,
    )
  }

  /** A start that was refused for a reason that lasts is not repeated. Child processes end with the service. */
  describe({ command, args, env }: Program): string {
    const lasting = [EXIT.store_damaged, EXIT.folder_in_use, EXIT.configuration]
    return `${[
      OURS,
      '[Unit]',
      'Description=Toolroom, the tool servers of your AI agents',
      'StartLimitIntervalSec=300',
      'StartLimitBurst=10',
      '',
      '[Service]',
      'Type=exec',
      `ExecStart=${[command, ...args].map(quoted).join(' ')}`,
      ...Object.entries(env).map(([name, value]) => `Environment=${quotedText(`${name}=${value}`)}`),
      'Restart=on-failure',
      'RestartSec=2',
      `RestartPreventExitStatus=${lasting.join(' ')}`,
      'KillMode=mixed',
      'TimeoutStopSec=15',
      '',
      '[Install]',
      'WantedBy=default.target',
    ].join('\n')}\n`
  }

  async check(): Promise<void> {
    const before = this.#read()
    if (before !== undefined && !before.startsWith(OURS))
      throw new Error(`${this.file} exists and was not written by Toolroom`)
    await this.#control('daemon-reload')
  }

  async install(program: Program): Promise<void> {
    const before = this.#read()
    makeFolder(dirname(this.file))
    writeDurably(this.file, this.describe(program), 0o644)
    try {
      await this.#control('daemon-reload')
      await this.#control('enable', this.#unit)
      await this.#control('restart', this.#unit) // also starts it
    } catch (error) {
      if (before === undefined) this.#removeFile()
      else writeDurably(this.file, before, 0o644)
      throw error
    }
  }

  async uninstall(): Promise<void> {
    await this.#control('disable', '--now', this.#unit)
    this.#removeFile()
    await this.#control('daemon-reload')
    await this.#control('reset-failed').catch(() => {}) // only forgets that an earlier run failed
  }

  async state(): Promise<ServiceState> {
    const installed = this.#read()?.startsWith(OURS) ?? false
    const file = this.file
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

  #read(): string | undefined {
    try {
      return readForeign(this.file, MAX_BYTES).bytes.toString()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }

  /** With the folders above it that are empty now. */
  #removeFile(): void {
    rmSync(this.file, { force: true })
    try {
      rmdirSync(`${dirname(this.file)}/default.target.wants`)
    } catch {
      // there is none, or it has other units
    }
    try {
      rmdirSync(dirname(this.file))
      rmdirSync(dirname(dirname(this.file)))
    } catch {
      // they have other files
    }
  }

  #control(...args: readonly string[]): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { timeout: TIMEOUT_MS, env: { ...process.env, LC_ALL: 'C', SYSTEMD_COLORS: '0' } }
      execFile('systemctl', ['--user', ...args], options, (error, stdout, stderr) => {
        if (!error) return resolve(stdout)
        const line = stderr.trim().split('\n').at(-1) || error.message
        reject(new Error(`systemctl --user ${args.join(' ')} failed: ${line}`))
      })
    })
  }
}

/** In a command, systemd expands `$` too. */
const quoted = (text: string): string => quotedText(text.replaceAll('$', '$$$$'))

const quotedText = (text: string): string =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n').replaceAll('%', '%%')}"`
