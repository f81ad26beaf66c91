import { type DynamicModule, Module, type Provider } from '@nestjs/common'
import { DiscoveryModule, DiscoveryService } from '@nestjs/core'
import { createEngine, type Engine } from '@outlay/core'
import { createEngineLife, lifeToken } from './engine-life.ts'
import { defaultEngine, getOutlayToken } from './injection.ts'
import {
  type OutlayModuleAsyncOptions,
  type OutlayModuleOptions,
  type OutlayOptions,
  optionsToken,
  provideOptions,
} from './module-options.ts'
import { nestLogger } from './nest-logger.ts'

/** Holds the engine, and is global where the host wants it. */
class OutlayCoreModule {}
Module({})(OutlayCoreModule)

/**
 * The module of an engine. It registers the methods that are decorated with `@OnTransfer`, starts the workers when the application
 * bootstraps, and stops them when it ends. Never migrates.
 *
 * @example
 * OutlayModule.forRootAsync({
 *   inject: [DataSource],
 *   useFactory: (dataSource: DataSource) => ({
 *     backend: postgres({ driver: typeormDriver(dataSource) }),
 *     gateway: httpGateway({ … }),
 *   }),
 * })
 */
export class OutlayModule {
  /** The module of an engine whose options are known. */
  static forRoot<Tx>(options: OutlayModuleOptions<Tx>): DynamicModule {
    requireOptions('OutlayModule.forRoot() takes the options of an engine', options)
    const { name, isGlobal, ...known } = options
    return OutlayModule.forRootAsync({ name, isGlobal, useFactory: () => known })
  }

  /** The module of an engine whose options need other providers. */
  static forRootAsync<Tx>(options: OutlayModuleAsyncOptions<Tx>): DynamicModule {
    const { name = defaultEngine, isGlobal = true, imports = [] } = options
    if (typeof name !== 'string' || name === '') throw new Error('The name of an engine is a text.')
    const core: DynamicModule = {
      module: OutlayCoreModule,
      global: isGlobal,
      imports,
      providers: [...provideOptions(name, options), provideEngine<Tx>(name)],
      exports: [optionsToken(name), getOutlayToken(name)],
    }
    // Its life is in a module that is not global: Nest starts those later and ends them earlier than what they import.
    return {
      module: OutlayModule,
      imports: [DiscoveryModule, core],
      providers: [provideLife<Tx>(name)],
      exports: [OutlayCoreModule],
    }
  }
}
Module({})(OutlayModule)

/** A provider may forget to return, and a caller may give what is not there yet. */
function requireOptions(what: string, options: unknown): void {
  if (typeof options !== 'object' || options === null)
    throw new Error(`${what}, such as { backend, gateway }; got ${options === null ? 'null' : typeof options}.`)
}

function provideEngine<Tx>(name: string): Provider {
  return {
    provide: getOutlayToken(name),
    inject: [optionsToken(name)],
    useFactory(given: OutlayOptions<Tx>): Engine<Tx> {
      requireOptions(`The provider of the options of the engine "${name}" returns them`, given)
      const { work: _, ...options } = given
      const logger = options.runtime?.logger ?? nestLogger(name)
      return createEngine({ ...options, runtime: { ...options.runtime, logger } })
    },
  }
}

function provideLife<Tx>(name: string): Provider {
  return {
    provide: lifeToken(name),
    inject: [optionsToken(name), getOutlayToken(name), DiscoveryService],
    useFactory: ({ work = true, runtime }: OutlayOptions<Tx>, engine: Engine<Tx>, discovery: DiscoveryService) =>
      createEngineLife({ engine, name, work, logger: runtime?.logger ?? nestLogger(name), discovery }),
  }
}
