*** Settings ***
Documentation       The eight reboots that the seed asks for, one after the other, with three controllers on one etcd. Where no switch reboots, no packet is lost.
Resource            ../resources/coeus.resource
Library             ../libraries/Etcd.py
Library             ../libraries/Restarts.py
Library             ../libraries/Storm.py
Suite Setup         Start Two Nodes With Pods
Suite Teardown      Stop Lab On Etcd

*** Variables ***
${LEASE}            ${35}

*** Test Cases ***
Candidate Reboots
    [Documentation]    A controller that is not the active one.
    Start Probes    blue:p1    10.11.2.10    5000
    Kill And Wait    b
    Start Controller Named    b
    Wait Until Standby    b
    Nothing Was Lost
    Pods Can Be Added    a

Leader Reboots
    Start Probes    blue:p1    10.11.2.10    25000
    Kill And Wait    a
    ${leader}=    One Of These Takes Over    ${LEASE}    b    c
    Start Controller Named    a
    Wait Until Standby    a
    Nothing Was Lost
    Pods Can Be Added    ${leader}

Several Controllers Reboot
    [Documentation]    The active one and another: the third goes on.
    ${leader}=    Active Controller
    ${other}    ${third}=    The Others    ${leader}
    Start Probes    blue:p1    10.11.2.10    25000
    Kill And Wait    ${leader}
    Kill And Wait    ${other}
    Takes Over    ${third}    ${LEASE}
    Start Controller Named    ${leader}
    Start Controller Named    ${other}
    Wait Until Standby    ${leader}
    Wait Until Standby    ${other}
    Nothing Was Lost
    Pods Can Be Added    ${third}

All Controllers Reboot
    Start Probes    blue:p1    10.11.2.10    25000
    FOR    ${name}    IN    a    b    c
        Kill And Wait    ${name}
    END
    FOR    ${name}    IN    a    b    c
        Start Controller Named    ${name}
    END
    ${leader}=    One Of These Takes Over    ${LEASE}    a    b    c
    Nothing Was Lost
    Pods Can Be Added    ${leader}

OVS Datapath Reboots
    Reboot Switch    1
    Ping Should Pass    blue:p1    10.11.2.10    20
    All Pods Should Reach All    blue

One OVS Datapath Reboots Again And Again
    FOR    ${number}    IN RANGE    5
        Reboot Switch    2
        Ping Should Pass    blue:p1    10.11.2.10    20
    END
    All Pods Should Reach All    blue

Entire Cluster Reboots
    [Documentation]    Controllers, etcd and switches, all at once.
    Reboot Everything
    Ping Should Pass    blue:p1    10.11.2.10    20
    All Pods Should Reach All    blue

Cluster After Cluster Reboots
    [Documentation]    The cluster of controllers, then that of the store, and the first once more.
    Start Probes    blue:p1    10.11.2.10    30000
    Reboot All Controllers At Once
    Kill Etcd
    Start Etcd
    ${leader}=    One Of These Takes Over    ${LEASE}    a    b    c
    Wait Until Ready    ${leader}
    Open Session
    Create Pod    other    blue    1    10.11.1.60
    Delete Pod    other    blue
    Reboot All Controllers At Once
    Nothing Was Lost
    ${leader}=    Active Controller
    Pods Can Be Added    ${leader}

And All Is As It Should Be
    [Documentation]    Nothing that was written is lost, and what the switches hold follows from it.
    ${leader}=    Active Controller
    Wait Until Ready    ${leader}
    Open Session
    FOR    ${number}    IN RANGE    ${ADDED}
        ${uid}=    Pod Uid    blue:added${number}
        Resource Should Exist    ${CONFIG}/pod:coe/pods/${uid}
    END
    FOR    ${name}    IN    a    b    c
        Signal Controller    ${name}    TERM
        Exit Code Of    ${name}
    END
    ${folder}=    Folder Of Copy
    ${code}    ${text}=    Copy Store    etcd://127.0.0.1:2379/coeus    sled:${folder}
    Should Be Equal As Integers    ${code}    0    ${text}
    Switches Should Be As In    ${folder}

*** Keywords ***
Start Two Nodes With Pods
    Start Lab On Etcd    2    controllers=3
    Start Controller Named    b
    Start Controller Named    c
    Open Session
    Set Suite Variable    ${ADDED}    ${0}
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    Create And Plug Pod    p1    blue    1    10.11.1.10    10.11.1.1
    Create And Plug Pod    p2    blue    1    10.11.1.11    10.11.1.1
    Create And Plug Pod    p3    blue    2    10.11.2.10    10.11.2.1
    All Pods Should Reach All    blue
    Wait For Switches

Kill And Wait
    [Arguments]    ${name}
    Signal Controller    ${name}    KILL
    Exit Code Of    ${name}

The Others
    [Arguments]    ${name}
    ${others}=    Evaluate    [other for other in "abc" if other != "${name}"]
    RETURN    ${others}

Nothing Was Lost
    ${sent}    ${lost}=    Probes Lost
    Should Be Equal As Integers    ${lost}    0

Pods Can Be Added
    [Documentation]    The controller that is active now writes, and its switches follow.
    [Arguments]    ${leader}
    Wait Until Ready    ${leader}
    Open Session
    Create And Plug Pod    added${ADDED}    blue    1    10.11.1.${${ADDED} + 20}    10.11.1.1
    Ping Should Pass    blue:added${ADDED}    10.11.2.10    20
    Set Suite Variable    ${ADDED}    ${${ADDED} + 1}

Reboot Switch
    [Arguments]    ${node}
    End Daemon    ${node}    vswitchd
    End Daemon    ${node}    ovsdb
    Start Daemon Of    ${node}    ovsdb
    Start Daemon Of    ${node}    vswitchd
    Address Again    ${node}

Reboot All Controllers At Once
    FOR    ${name}    IN    a    b    c
        Kill And Wait    ${name}
    END
    FOR    ${name}    IN    a    b    c
        Start Controller Named    ${name}
    END
    One Of These Takes Over    ${LEASE}    a    b    c

Reboot Everything
    FOR    ${node}    IN    1    2
        End Daemon    ${node}    vswitchd
        End Daemon    ${node}    ovsdb
    END
    FOR    ${name}    IN    a    b    c
        Kill And Wait    ${name}
    END
    Kill Etcd
    FOR    ${node}    IN    1    2
        Start Daemon Of    ${node}    ovsdb
        Start Daemon Of    ${node}    vswitchd
        Address Again    ${node}
    END
    Start Etcd
    FOR    ${name}    IN    a    b    c
        Start Controller Named    ${name}
    END
    One Of These Takes Over    ${LEASE}    a    b    c
