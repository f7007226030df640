/** Returns the folder that has the packages in its node_modules. */
export function installPackages(name: string, dependencies: Readonly<Record<string, string>>): Promise<string>
/** Returns the file of a package's program. */
export function programOf(folder: string, name: string, wanted?: string): string
