import type { FactoryProvider, ModuleMetadata, Provider, Type } from '@nestjs/common'
import type { EngineOptions, WorkOptions } from '@outlay/core'
import { checkNames } from '@outlay/core/adapter'

/** Options of an engine in Nest: those of `createEngine`, and what its process does. */
export interface OutlayOptions<Tx> extends EngineOptions<Tx> {
  /**
   * Whether the application starts the workers of its process when it bootstraps, and their options. False for a process that only
   * enqueues and receives webhooks. Default true.
   */
  readonly work?: WorkOptions | boolean | undefined
}

/** Which engine a module has, and who sees it. */
export interface OutlayModulePlace {
  /** Distinguishes the engines of an application. Default: the engine that is injected without a name. */
  readonly name?: string | undefined
  /** Whether modules can inject the engine that do not import this one. Default true. */
  readonly isGlobal?: boolean | undefined
}

/** Options of `OutlayModule.forRoot`. */
export interface OutlayModuleOptions<Tx> extends OutlayOptions<Tx>, OutlayModulePlace {}

/** Makes the options of an engine; a provider for `useClass` and `useExisting`. */
export interface OutlayOptionsFactory<Tx> {
  createOutlayOptions(): OutlayOptions<Tx> | Promise<OutlayOptions<Tx>>
}

/** Options of `OutlayModule.forRootAsync`: one of `useFactory`, `useClass` and `useExisting`. */
export interface OutlayModuleAsyncOptions<Tx> extends OutlayModulePlace {
  /** Modules with what is injected. Those of the database are closed after the workers have stopped. */
  readonly imports?: ModuleMetadata['imports']
  /** What `useFactory` gets, in order. */
  readonly inject?: FactoryProvider['inject']
  /** Makes the options of what is injected. */
  readonly useFactory?: ((...injected: never[]) => OutlayOptions<Tx> | Promise<OutlayOptions<Tx>>) | undefined
  /** A class that makes the options; the module has its instance. */
  readonly useClass?: Type<OutlayOptionsFactory<Tx>> | undefined
  /** The token of a provider that makes the options. */
  readonly useExisting?: FactoryProvider['provide'] | undefined
}

/** Where the options of an engine are provided. */
export const optionsToken = (engine: string): string => `outlay options ${engine}`

/** Providers of the options under {@link optionsToken}. Throws Error unless there is one source. */
export function provideOptions<Tx>(engine: string, options: OutlayModuleAsyncOptions<Tx>): Provider[] {
  checkNames(options, ['name', 'isGlobal', 'imports', 'inject', 'useFactory', 'useClass', 'useExisting'])
  const { useFactory, useClass, useExisting, inject = [] } = options
  if ([useFactory, useClass, useExisting].filter((source) => source !== undefined).length !== 1)
    throw new Error('Give OutlayModule.forRootAsync() one of useFactory, useClass and useExisting.')
  const provide = optionsToken(engine)
  if (useFactory !== undefined) return [{ provide, inject, useFactory }]
  const source = useClass ?? useExisting
  const made: Provider = {
    provide,
    inject: [source as Type<OutlayOptionsFactory<Tx>>],
    useFactory: (factory: OutlayOptionsFactory<Tx>) => factory.createOutlayOptions(),
  }
  return useClass === undefined ? [made] : [useClass, made]
}
