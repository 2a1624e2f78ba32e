*** Settings ***
Documentation       What deploy/ does on a node: the plugin is there first, and the network's configuration, by which kubelet knows that pods may come, last and whole; and the
...                 units of systemd.
Library             ../libraries/Install.py
Library             OperatingSystem
Suite Teardown      Leave Nothing
Test Timeout        1 minute

*** Test Cases ***
The Plugin Is There Before The Agent
    Init Container Puts The Plugin
    Init Container Puts The Plugin

The Configuration Comes When The Agent Listens And Not Before
    Hook Begins
    Sleep    2 s
    ${there}=    Networks There
    Should Be Empty    ${there}
    Agent Listens
    Hook Ends
    ${there}=    Networks There
    Should Be Equal    ${there}    ${{['10-coeus.conflist']}}
    Conflist Is Whole

Units Are As Systemd Has Them
    ${program}=    Evaluate    sys.executable    sys
    FOR    ${unit}    IN    coeus.service    coeus-watch.service    coeus-node.service
        Unit Is As Systemd Has It    ${unit}    ${program}
    END
